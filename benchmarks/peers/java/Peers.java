import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import net.javacrumbs.shedlock.core.ClockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.jdbc.JdbcLockProvider;
import net.javacrumbs.shedlock.provider.redis.spring.RedisLockProvider;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/** Peers in Java, as benchmarks/peers/run drives them: Peers NAME ADDRESS. The requests are those of ../requests.hpp. */
public final class Peers {
    private static final Duration TTL = Duration.ofSeconds(30);
    private static final int AS_MANY_AS_BY_DEFAULT = 0;

    private interface Release {
        void run() throws Exception;
    }

    private interface Locker {
        /** Takes a key that is free. */
        Release tryLock(String key) throws Exception;

        /** Waits for a key that is not. */
        default Release lock(String key) throws Exception {
            throw new UnsupportedOperationException("it does not wait");
        }
    }

    private record ShedLock(LockProvider provider) implements Locker {
        @Override
        public Release tryLock(String key) {
            SimpleLock lock = provider.lock(new LockConfiguration(ClockProvider.now(), key, TTL, Duration.ZERO)).orElseThrow();
            return lock::unlock;
        }
    }

    private record OnRedisson(RedissonClient client) implements Locker {
        @Override
        public Release tryLock(String key) throws Exception {
            RLock lock = client.getLock(key);
            if (!lock.tryLock(0, TTL.toMillis(), TimeUnit.MILLISECONDS)) throw new IllegalStateException(key + " is busy");
            return lock::unlock;
        }

        @Override
        public Release lock(String key) {
            RLock lock = client.getLock(key);
            lock.lock(TTL.toMillis(), TimeUnit.MILLISECONDS);
            return lock::unlock;
        }
    }

    private record OnCurator(CuratorFramework client) implements Locker {
        @Override
        public Release tryLock(String key) throws Exception {
            return lock(key);
        }

        @Override
        public Release lock(String key) throws Exception {
            InterProcessMutex mutex = new InterProcessMutex(client, "/" + key);
            mutex.acquire();
            return mutex::release;
        }
    }

    private static Locker open(String name, String address, int connections) throws Exception {
        return switch (name) {
            case "shedlock-jdbc" -> openJdbc(address, connections);
            case "shedlock-redis" -> openSpring(address);
            case "redisson" -> openRedisson(address, connections);
            case "curator" -> openCurator(address);
            default -> throw new IllegalArgumentException("unknown peer '" + name + "'");
        };
    }

    private static Locker openJdbc(String url, int connections) throws Exception {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(url);
        if (connections != AS_MANY_AS_BY_DEFAULT) config.setMaximumPoolSize(connections);
        HikariDataSource pool = new HikariDataSource(config);
        try (var connection = pool.getConnection(); var statement = connection.createStatement()) {
            // As ShedLock documents them.
            String time = url.startsWith("jdbc:postgresql:") ? "TIMESTAMP" : "TIMESTAMP(3)";
            statement.execute("CREATE TABLE IF NOT EXISTS shedlock(name VARCHAR(64) NOT NULL, lock_until " + time + " NOT NULL, "
                    + "locked_at " + time + " NOT NULL, locked_by VARCHAR(255) NOT NULL, PRIMARY KEY (name))");
        }
        return new ShedLock(new JdbcLockProvider(pool));
    }

    private static Locker openSpring(String address) {
        String[] parts = address.split(":");
        var factory = new LettuceConnectionFactory(new RedisStandaloneConfiguration(parts[0], Integer.parseInt(parts[1])));
        factory.afterPropertiesSet();
        factory.start();
        return new ShedLock(new RedisLockProvider(factory));
    }

    private static Locker openRedisson(String address, int connections) {
        Config config = new Config();
        var server = config.useSingleServer().setAddress("redis://" + address);
        if (connections != AS_MANY_AS_BY_DEFAULT) {
            server.setConnectionPoolSize(connections).setConnectionMinimumIdleSize(connections);
        }
        return new OnRedisson(Redisson.create(config));
    }

    private static Locker openCurator(String address) throws InterruptedException {
        CuratorFramework client = CuratorFrameworkFactory.newClient(address, (int) TTL.toMillis(), 15_000,
                new ExponentialBackoffRetry(1000, 3));
        client.start();
        client.blockUntilConnected();
        return new OnCurator(client);
    }

    private static long[] pairs(Locker by, String key, int count) throws Exception {
        long[] times = new long[count];
        for (int i = 0; i < count; ++i) {
            long begun = System.nanoTime();
            by.tryLock(key).run();
            times[i] = System.nanoTime() - begun;
        }
        return times;
    }

    private static long[] crowd(Locker by, String key, int callers, int each) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(callers);
        try {
            List<Future<long[]>> all = new ArrayList<>();
            long begun = System.nanoTime();
            for (int i = 0; i < callers; ++i) {
                String mine = key + "/" + i;
                all.add(threads.submit(() -> pairs(by, mine, each)));
            }
            for (Future<long[]> one : all) one.get();
            return new long[] {System.nanoTime() - begun};
        } finally {
            threads.shutdown();
        }
    }

    private static long[] handOver(Locker one, Locker other, ExecutorService waiter, String key, int hold) throws Exception {
        Release held = one.tryLock(key);
        Future<Long> granted = waiter.submit(() -> {
            Release won = other.lock(key);
            long at = System.nanoTime();
            won.run();
            return at;
        });
        Thread.sleep(hold);
        long begun = System.nanoTime();
        held.run();
        return new long[] {granted.get() - begun};
    }

    private static void serve(String name, String address) throws Exception {
        Locker one = open(name, address, 1);
        Locker other = open(name, address, 1);
        Locker many = null;  // made when it is asked for: some keep threads of their own
        ExecutorService waiter = Executors.newSingleThreadExecutor();
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in));
        for (String request; (request = requests.readLine()) != null;) {
            String[] words = request.split(" ");
            int first = Integer.parseInt(words[2]);
            long[] times;
            switch (words[0]) {
                case "pairs" -> times = pairs(one, words[1], first);
                case "crowd" -> {
                    if (many == null) many = open(name, address, AS_MANY_AS_BY_DEFAULT);
                    times = crowd(many, words[1], first, Integer.parseInt(words[3]));
                }
                case "hand-over" -> times = handOver(one, other, waiter, words[1], first);
                default -> throw new IllegalArgumentException("unknown request '" + request + "'");
            }
            System.out.println("{\"nanos\": " + Arrays.toString(times) + "}");
        }
    }

    public static void main(String[] words) {
        try {
            serve(words[0], words[1]);
            System.exit(0);
        } catch (Exception fault) {
            System.out.println("{\"error\": \"" + fault.toString().replaceAll("[\"\\\\\\n]", " ") + "\"}");
            System.exit(1);
        }
    }

    private Peers() {}
}
