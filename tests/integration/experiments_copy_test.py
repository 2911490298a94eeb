"""Tokens that were given twice, and two holders of a key: what once made that happen is done again, from outside, to stores whose data
are put back or shared."""
import os
import subprocess

from experiments import OnOneServer
from harness import PAWL, Case, Etcd, Outcome, Zookeeper, environment


class PutBack(OnOneServer):
    def tokens_rise_across_a_restore(self, server):
        """Goal: no token is given twice. Method: an old data folder is put back while no client is connected."""
        self.serve(server)
        tokens = [self.token()]
        server.save_data()
        tokens += [self.token(), self.token()]
        server.put_data_back()
        # It has forgotten the two.
        self.assertEqual(self.shown()["fence_token"], tokens[0])
        tokens.append(self.token())
        self.assertEqual(tokens, sorted(set(tokens)))

    def test_an_old_folder_of_zookeeper_gives_no_token_twice(self):
        self.tokens_rise_across_a_restore(Zookeeper())

    def test_an_old_folder_of_etcd_gives_no_token_twice(self):
        self.tokens_rise_across_a_restore(Etcd())


class AnotherMachine(Case):
    def elsewhere(self, boot_id, *words):
        """pawl as on a machine with that name of its boot."""
        name = self.folder / "boot_id"
        name.write_text(boot_id)
        script = 'mount --bind "$1" /proc/sys/kernel/random/boot_id && shift && exec "$@"'
        return Outcome(subprocess.run(["unshare", "--mount", *(["--map-root-user"] if os.geteuid() else []), "sh", "-c", script, "sh", str(name),
                                       PAWL, "--store", self.store, *words], env=environment(), capture_output=True, text=True, timeout=60))

    def test_a_lease_of_another_machine_is_not_granted_again(self):
        """Goal: a file that two machines share has one holder. Method: the same file under another boot, which is all that pawl
        sees of another machine, and under one that has no name."""
        holder = self.hold("k", "--ttl", "60s")
        token = self.pawl("locks", "show", "k", "--json").json()["fence_token"]
        for boot_id, says in (("0f5c0a1e-3f0b-4b55-9a5c-6d2a7c1f9e11\n", "another machine"), ("", "boot_id")):
            with self.subTest(says):
                rejected = self.elsewhere(boot_id, "exec", "k", "--no-journal", "--", "echo", "ran")
                self.assert_one_line(rejected, 78, says)
                self.assertEqual(rejected.out, "")
        shown = self.pawl("locks", "show", "k", "--json").json()
        self.assertEqual((shown["held"], shown["fence_token"]), (True, token))
        self.assertIsNone(holder.poll())
