"""`gossamer metrics`: serves the metrics of a store to Prometheus."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING, Annotated

from gossamer.cli.options import (
    Data,
    LogFormat,
    LogLevel,
    Option,
    Setting,
    StoreUrl,
    log_settings,
    open_existing_store,
    read_settings,
)
from gossamer.errors import UsageError

if TYPE_CHECKING:
    from gossamer.config.settings import Settings

PORT = 9464


def metrics(
    port: Annotated[
        int, Option("--port", metavar="PORT", help="The port (default 9464; 0: any).", least=0)
    ] = PORT,
    bind: Annotated[
        str, Option("--bind", metavar="ADDRESS", help="The address (default 127.0.0.1; 0.0.0.0: all).")
    ] = "127.0.0.1",
    once: Annotated[bool, Option("--once", help="Print the metrics on stdout, then end.")] = False,
    log_level: LogLevel = None,
    log_format: LogFormat = None,
    data: Data = None,
    store: StoreUrl = None,
    setting: Setting = None,
) -> int:
    """Serve the metrics of all crawls and workers of a store to Prometheus, until stopped. Several may run."""
    from gossamer.observability.exporter import check_bind

    if port > 65_535:
        raise UsageError(f"--port {port}: a port is at most 65535")
    check_bind(bind)
    settings = read_settings(data, store, setting, log_settings(log_level, log_format))
    return asyncio.run(_metrics(settings, bind, port, once))


async def _metrics(settings: Settings, bind: str, port: int, once: bool) -> int:
    from gossamer.app.alert_watch import AlertWatch
    from gossamer.cli.printing import remark
    from gossamer.observability.exporter import MetricsServer
    from gossamer.observability.logs import start_logs
    from gossamer.observability.metrics_page import READ_TIMEOUT_S, MetricsPage

    async with open_existing_store(settings) as store:
        page = MetricsPage(store, settings.credits_daily)
        if once:
            print(await page.read(), end="")
            return 0
        start_logs(settings.log_format or "text", settings.log_level)
        loop, stop = asyncio.get_running_loop(), asyncio.Event()
        for name in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(name, stop.set)
        server = MetricsServer(
            bind,
            port,
            lambda: asyncio.run_coroutine_threadsafe(page.or_down(), loop).result(2 * READ_TIMEOUT_S),
        )
        server.start()
        remark(f"metrics at http://{bind}:{server.port}/metrics")
        alerts = AlertWatch(settings, store) if settings.alerts else None
        watching = asyncio.create_task(alerts.run() if alerts is not None else asyncio.sleep(0))
        await stop.wait()
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        await asyncio.to_thread(server.close)
    return 0
