"""Claims at bad moments, on the servers of the clouds, or on what answers as they do on one machine."""
from bad_moments import BadMoments
from harness import CloudServer


class OnClouds(BadMoments):
    """Run by the name of the engine, because its server is made by a test of its own."""

    def disturb_engine(self, name):
        # They take their time, and are asked twice for a claim.
        self.disturb(CloudServer(name), "1s", "2s")

    def test_on_azblob(self):
        self.disturb_engine("azblob")

    def test_on_dynamodb(self):
        self.disturb_engine("dynamodb")

    def test_on_kubernetes(self):
        self.disturb_engine("kubernetes")

    def test_on_mongodb(self):
        self.disturb_engine("mongodb")

    def test_on_s3(self):
        self.disturb_engine("s3")
