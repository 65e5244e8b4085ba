// ([vendor, renderer]) -> nothing. What WebGL tells of the graphics card, and the outer size of a window that is too new to know it; the
// functions still look like the browser's own.
([vendor, renderer]) => {
  for (const kind of [globalThis.WebGLRenderingContext, globalThis.WebGL2RenderingContext]) {
    if (!kind) continue;
    kind.prototype.getParameter = new Proxy(kind.prototype.getParameter, {
      apply: (call, context, given) =>
        given[0] === 0x9245 ? vendor : given[0] === 0x9246 ? renderer : Reflect.apply(call, context, given),
    });
  }
  for (const [outer, inner, bars] of [["outerWidth", "innerWidth", 0], ["outerHeight", "innerHeight", 85]]) {
    const own = Object.getOwnPropertyDescriptor(globalThis, outer);
    if (!own || !own.get) continue;
    own.get = new Proxy(own.get, {
      apply: (call, context, given) => {
        let size = 0;
        try {
          size = globalThis.top[inner];
        } catch {} // a frame of another origin
        // a window that is new says 0, and then the size of its content, as if it had no bars
        return Math.max(Reflect.apply(call, context, given), (size || globalThis[inner]) + bars);
      },
    });
    Object.defineProperty(globalThis, outer, own);
  }
}
