# SPDX-License-Identifier: MIT
"""Where libhew.so is: named by the user, in the wheel, or in a source checkout's release build."""

from collections.abc import Mapping
from pathlib import Path

from hew.model.errors import HewError

PACKAGE = Path(__file__).resolve().parents[1]
LIBRARY = "libhew.so"


def find_hew(explicit: Path | None, environment: Mapping[str, str], package: Path = PACKAGE) -> Path:
    """The library to use. A place that the user named is used or refused, never skipped."""
    if explicit is not None:
        return _named(explicit, "--lib")
    if environment.get("HEW_LIBRARY"):
        return _named(Path(environment["HEW_LIBRARY"]), "HEW_LIBRARY")
    candidates = [package / "lib" / LIBRARY]
    checkout = find_checkout(package)
    if checkout is not None:
        candidates.append(checkout / "build" / "release" / LIBRARY)
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    places = " or ".join(str(candidate) for candidate in candidates)
    raise HewError(
        f"{LIBRARY} is not in {places}: build it (cmake --preset release && cmake --build --preset release)"
        " or set HEW_LIBRARY"
    )


def find_part(name: str, package: Path = PACKAGE) -> Path:
    """A library or program of ours beside libhew.so: in the wheel, or in a checkout's release build."""
    checkout = find_checkout(package)
    candidates = [package / "lib" / name]
    candidates += [checkout / "build" / "release" / name] if checkout else []
    found = next((candidate for candidate in candidates if candidate.is_file()), None)
    if found is None:
        places = " or ".join(str(candidate) for candidate in candidates)
        raise HewError(
            f"{name} is not in {places}: build it (cmake --preset release && cmake --build --preset release)"
        )
    return found


def _named(path: Path, by: str) -> Path:
    if not path.is_file():
        raise HewError(f"{by} names {path}, which is not a file")
    return path.absolute()


def find_checkout(package: Path = PACKAGE) -> Path | None:
    """The source checkout that the package lies in (tool/src/hew), or None when it is installed elsewhere."""
    if len(package.parents) < 3:
        return None
    root = package.parents[2]
    return root if (root / "src" / "LAYERS").is_file() else None


def built_peers(package: Path = PACKAGE) -> dict[str, Path]:
    """The allocators that `make peers` has built in the checkout, by name."""
    checkout = find_checkout(package)
    found = sorted((checkout / "build" / "peers").glob("lib*.so")) if checkout else []
    return {path.name.removeprefix("lib").removesuffix(".so"): path for path in found}
