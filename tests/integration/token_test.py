"""token new: a secret that is shown once, and what the configuration keeps of it."""
import re
import tomllib

from harness import Case, environment, pawl


class New(Case):
    def test_json_has_the_token_and_its_hash(self):
        outcome = pawl("token", "new", "--name", "alice", "--role", "admin", "--json")
        self.assertEqual((outcome.status, outcome.err), (0, ""))
        made = outcome.json()
        self.assertEqual(list(made), ["name", "role", "token", "token_hash"])
        self.assertEqual((made["name"], made["role"]), ("alice", "admin"))
        self.assertRegex(made["token"], r"^pawl\.YWxpY2U\.[A-Za-z0-9_-]{43}$")
        self.assertRegex(made["token_hash"], r"^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]+\$[A-Za-z0-9+/]{43}$")
        self.assertNotIn(made["token"].split(".")[2], made["token_hash"])

    def test_each_is_new(self):
        made = [pawl("token", "new", "--name", "a", "--role", "viewer", "--json").json() for _ in range(3)]
        self.assertEqual(len({one["token"] for one in made}), 3)
        self.assertEqual(len({one["token_hash"] for one in made}), 3)

    def test_what_is_printed_for_people_goes_into_the_configuration_as_it_is(self):
        for name in ["alice", 'a "quoted" \\ name', "Zoë", "n" * 64]:
            with self.subTest(name):
                outcome = pawl("token", "new", "--name", name, "--role", "operator")
                self.assertEqual((outcome.status, outcome.err), (0, ""))
                tokens = re.findall(r"^pawl\.\S+$", outcome.out, re.MULTILINE)
                self.assertEqual(len(tokens), 1, outcome.out)
                block = outcome.out[outcome.out.index("[[user]]"):]
                self.assertNotIn(tokens[0], block)
                config = self.folder / "pawl.toml"
                config.write_text(f'store = "{self.store}"\n{block}')
                check = pawl("agent", "--config", str(config), "--check")
                self.assertEqual((check.status, check.err), (0, ""), block)
                self.assertEqual([(user["name"], user["role"]) for user in tomllib.loads(block)["user"]], [(name, "operator")])

    def test_it_needs_neither_a_store_nor_its_folder(self):
        outcome = pawl("token", "new", "--name", "a", "--role", "viewer",
                       env=environment(PAWL_STORE="nonsense", HOME="/nowhere"))
        self.assertEqual(outcome.status, 0, outcome.err)


class Rejections(Case):
    def test_what_is_wrong_is_told_in_one_line(self):
        for words, says in [(["--role", "admin"], "--name is required"),
                            (["--name", "a"], "--role is required"),
                            (["--name", "", "--role", "admin"], "--name is empty; expected NAME"),
                            (["--name", "n" * 65, "--role", "admin"], "has 65 bytes; at most 64"),
                            (["--name", "a\nb", "--role", "admin"], "has a control character"),
                            (["--name", "\x1b[31m", "--role", "admin"], "has a control character"),
                            (["--name", b"\xff", "--role", "admin"], "'?' is not UTF-8"),
                            (["--name", "a", "--role", "root"], "--role: root not in"),
                            (["--name", "a", "--role", "Admin"], "--role: Admin not in"),
                            (["--name", "a", "--role", "admin", "more"], "more")]:
            with self.subTest(words):
                outcome = pawl("token", "new", *words)
                self.assert_one_line(outcome, 64, says)
                self.assertEqual(outcome.out, "")
                self.assertNotIn("\x1b", outcome.err)
        bare = pawl("token")
        self.assertEqual((bare.status, bare.out), (64, ""))
        self.assertIn("Subcommands:", bare.err)
