// ([vendor, renderer]) -> nothing. What WebGL tells of the graphics card; the functions still look like the browser's own.
([vendor, renderer]) => {
  for (const kind of [globalThis.WebGLRenderingContext, globalThis.WebGL2RenderingContext]) {
    if (!kind) continue;
    kind.prototype.getParameter = new Proxy(kind.prototype.getParameter, {
      apply: (call, context, given) =>
        given[0] === 0x9245 ? vendor : given[0] === 0x9246 ? renderer : Reflect.apply(call, context, given),
    });
  }
}
