"""Ages as ``kubectl get`` prints them, with at most two units; and how often something happened."""


def age(seconds: float) -> str:
    """Return ``95s``, ``5m30s``, ``2h15m``, ``3d4h``, ``2y35d`` (apimachinery pkg/util/duration, HumanDuration).

    A negative age has a leading minus.
    """
    if seconds < 0:
        return f"-{age(-seconds)}"
    whole = int(seconds)
    if whole < 120:
        return f"{whole}s"
    minutes, rest = divmod(whole, 60)
    if minutes < 10:
        return f"{minutes}m{rest}s" if rest else f"{minutes}m"
    if minutes < 180:
        return f"{minutes}m"
    hours, minutes = divmod(minutes, 60)
    if hours < 8:
        return f"{hours}h{minutes}m" if minutes else f"{hours}h"
    if hours < 48:
        return f"{hours}h"
    days, hours = divmod(hours, 24)
    if days < 8:
        return f"{days}d{hours}h" if hours else f"{days}d"
    if days < 730:
        return f"{days}d"
    years, days = divmod(days, 365)
    return f"{years}y{days}d" if years < 8 and days else f"{years}y"


def often(times: int) -> str:
    """Return ``once``, ``2 times``."""
    return "once" if times == 1 else f"{times} times"
