"""Where a server listens, and whether only this machine can reach it there."""

from __future__ import annotations

import ipaddress
import signal
import socket

from worlds.errors import OpenError


def is_loopback(host: str) -> bool:
    """Whether an address, or the name localhost, can be reached from this machine alone.

    False wherever that is not certain: a short form such as 127.1, or a name below .localhost, is left to a resolver.
    """
    name = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return host.lower() in ("localhost", "localhost.")
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped.is_loopback
    return address.is_loopback


def network(host: str) -> str:
    """The address, of IPv6 the network, which one client has whole."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    return host if address.version == 4 else str(ipaddress.ip_network((address, 64), strict=False))


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; 0 takes a free port.

    OpenError for an address that cannot be had, and where the machine's resolver takes localhost for another address.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = found[0]
        listening = socket.create_server(address[:2], family=family, backlog=2048)
    except OSError as error:
        told = f"{host}:{port} cannot be listened on: {error.strerror or error}; --port 0 takes a free port"
        raise OpenError(told) from error
    bound = listening.getsockname()[0]
    if is_loopback(host) and not is_loopback(bound):
        listening.close()
        raise OpenError(
            f"{host} is {bound} on this machine, which other machines can reach: give the address to listen on"
        )
    # What is accepted inherits it. Without it an answer in two pieces waits 40 ms for the client's delayed ACK.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def url(host: str, listening: socket.socket) -> str:
    """The address of a listening socket, as a client writes it."""
    return f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}"


def stopping_signals() -> list[signal.Signals]:
    """The signals that ask a server to stop: SIGHUP among them, unless nohup has it ignored."""
    hangup = getattr(signal, "SIGHUP", None)
    hangups = [] if hangup is None or signal.getsignal(hangup) is signal.SIG_IGN else [hangup]
    return [signal.SIGINT, signal.SIGTERM, *hangups]
