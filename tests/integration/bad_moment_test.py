"""Claims at bad moments, on the servers that Debian has."""
from bad_moments import BadMoments
from harness import Etcd, Mariadb, Postgres, Redis, RedisCluster, RedisSentinels, Redlock, Zookeeper


class OnDebiansServers(BadMoments):
    def test_on_redis(self):
        self.disturb(Redis(*Redis.SYNCED), "200ms", "1s")

    def test_on_sentinels(self):
        # What is stalled or cut is the way to the sentinels, who name the server that is then asked.
        self.disturb(RedisSentinels(), "200ms", "1s")

    def test_on_a_cluster(self):
        # What is stalled or cut is the way to those whom the URL names, of whom one serves the key.
        self.disturb(RedisCluster(), "200ms", "1s")

    def test_on_redlock(self):
        self.disturb(Redlock(), "200ms", "1s")

    def test_on_postgresql(self):
        self.disturb(Postgres(), "200ms", "1s")

    def test_on_mariadb(self):
        self.disturb(Mariadb(), "200ms", "1s")

    def test_on_etcd(self):
        self.disturb(Etcd(), "200ms", "1s")

    def test_on_zookeeper(self):
        # To begin a session takes a transaction of its own on top of the connection.
        self.disturb(Zookeeper(), "1s", "2s")
