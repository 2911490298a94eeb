"""A connection that fails where a test wants it to."""
import socket
import threading
import time


class NetworkLink:
    """Between a client and a server: it can hold back what the server says, all that is said, or be cut."""

    def __init__(self, port, lead=0, hold_from=None, late_from=None):
        self.port = port
        self.lead = lead  # s, for which the first word is under way
        self.hold_from = hold_from  # what a client says with these bytes in it is not answered, nor anything after it
        self.late_from = late_from  # the first that a client says with these bytes in it stays under way
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.open = threading.Event()  # both directions
        self.answers = threading.Event()
        self.heard = threading.Event()  # a client has said something
        self.held = threading.Event()  # and what is not answered
        self.is_late = threading.Event()
        self.late = threading.Event()  # may arrive
        self.arrived = threading.Event()
        self.open.set()
        self.answers.set()
        self.ends = []
        threading.Thread(target=self.accept, daemon=True).start()

    @property
    def address(self):
        return f"127.0.0.1:{self.listener.getsockname()[1]}"

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self.port))
            except OSError:  # it is down
                client.close()
                continue
            self.ends += [client, server]
            threading.Thread(target=self.carry, args=(client, server, True), daemon=True).start()
            threading.Thread(target=self.carry, args=(server, client, False), daemon=True).start()

    def carry(self, source, sink, is_question):
        try:
            while said := source.recv(65536):
                if is_question and not self.heard.is_set():
                    self.heard.set()
                    time.sleep(self.lead)
                late_from = self.late_from  # another connection may forget it meanwhile
                is_first = is_question and late_from and late_from in said
                if is_first:
                    self.late_from = None
                    self.is_late.set()
                    self.late.wait()
                hold_from = self.hold_from  # as heal() may this
                if is_question and hold_from and hold_from in said:
                    self.answers.clear()
                    self.held.set()
                if not is_question:
                    self.answers.wait()
                self.open.wait()
                sink.sendall(said)
                if is_first:
                    self.arrived.set()
        except OSError:
            pass
        self.shut(source, sink)
        source.close()

    @staticmethod
    def shut(*ends):
        for end in ends:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def heal(self):
        """Who is connected loses that connection, and what was held back in it."""
        self.hold_from = None
        self.cut()
        self.answers.set()

    def deliver(self):
        """Returns once what was late has reached the server."""
        self.late.set()
        if not self.arrived.wait(60):
            raise AssertionError("what was late did not arrive")

    def cut(self):
        self.shut(*self.ends)

    def close(self):
        self.shut(self.listener)  # wakes accept()
        self.listener.close()
        self.open.set()
        self.answers.set()
        self.late.set()
        self.cut()
