"""The fleet: Celery keeps worker processes alive and gives them slices of crawling. The frontier decides what
is crawled. No module here decides how a URL is crawled."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gossamer.fleet.app import app as app

__all__ = ["app"]


def __getattr__(name: str) -> Any:
    """Lets `celery -A gossamer.fleet worker` find the application. Nothing else imports Celery."""
    if name == "app":
        from gossamer.fleet.app import app

        return app
    raise AttributeError(name)
