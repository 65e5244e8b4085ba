"""The methods of `gossamer.Client` and `gossamer.AsyncClient` that call one operation each. They are made from the table of
operations. Editors and type checkers read `service_methods.pyi`, which `gossamer.client.service_stub` makes."""

from gossamer.client.service_calls import ServiceCalls, async_method_of, method_of
from gossamer.operations.table import OPERATIONS


class ServiceMethods(ServiceCalls):
    """The methods of `Client`."""


class AsyncServiceMethods:
    """The methods of `AsyncClient`."""


for _one in OPERATIONS:
    setattr(ServiceMethods, _one.method_of_client, method_of(_one))
    setattr(AsyncServiceMethods, _one.method_of_client, async_method_of(_one))
