"""The keys of a primary: JSON Web Tokens by Ed25519, each for one world."""

from __future__ import annotations

import base64
import json
import os
import secrets
import time
from pathlib import Path

from worlds.errors import WorldsError


class Keys:
    """The keys in a folder, which are made where there are none."""

    def __init__(self, folder: Path) -> None:
        try:
            from cryptography.hazmat.primitives import serialization
            from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        except ImportError as error:
            raise WorldsError("the keys of a primary need cryptography: pip install 'worlds-kg[remote]'") from error
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.public = folder / "public.pem"  # sqld's
        private, admin = folder / "private.pem", folder / "admin"
        if not private.exists():
            made = Ed25519PrivateKey.generate()
            _write(
                private,
                made.private_bytes(
                    serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
                ),
            )
        if not admin.exists():
            _write(admin, secrets.token_urlsafe(32).encode())
        key = serialization.load_pem_private_key(private.read_bytes(), None)
        assert isinstance(key, Ed25519PrivateKey)
        self._key = key
        _write(
            self.public,
            key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo),
        )
        self.admin = admin.read_text().strip()
        """The token that pushes worlds."""

    def token(self, world: str, *, read_only: bool = False, days: float | None = None) -> str:
        """A token for one world. Every token names its world: one that names none would open all."""
        claims: dict[str, object] = {"id": world, "a": "ro" if read_only else "rw", "iat": int(time.time())}
        if days is not None:
            claims["exp"] = int(time.time() + days * 86_400)
        parts = [_encoded(json.dumps(part).encode()) for part in ({"alg": "EdDSA", "typ": "JWT"}, claims)]
        signed = ".".join(parts)
        return f"{signed}.{_encoded(self._key.sign(signed.encode()))}"


def _encoded(part: bytes) -> str:
    return base64.urlsafe_b64encode(part).decode().rstrip("=")


def _write(path: Path, content: bytes) -> None:
    draft = path.with_name(path.name + ".new")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(content)
    draft.replace(path)
