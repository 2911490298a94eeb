"""Claims at bad moments, on the servers of the clouds, or on what answers as they do on one machine."""
from bad_moments import KINDS, BadMoments
from harness import CloudServer


class OnClouds(BadMoments):
    """Run by the name of the engine, because its server is made by a test of its own."""

    def disturb_engine(self, name, kinds=KINDS):
        # They take their time, and are asked twice for a claim.
        self.disturb(CloudServer(name), "1s", "2s", kinds=kinds)

    def test_on_azblob(self):
        # Azurite answers before it has written, so one that is killed has forgotten what it granted. Azure does not.
        self.disturb_engine("azblob", [kind for kind in KINDS if kind != "kill"])

    def test_on_dynamodb(self):
        self.disturb_engine("dynamodb")

    def test_on_kubernetes(self):
        self.disturb_engine("kubernetes")

    def test_on_mongodb(self):
        self.disturb_engine("mongodb")

    def test_on_s3(self):
        self.disturb_engine("s3")
