// Makes WebGL report `vendor` and `renderer` as the graphics card. Also corrects the outer size that a new
// window reports. Each changed function is a Proxy, so a page still sees native code. Returns nothing.
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
        } catch {} // this is a frame of another origin than the page
        // The outer size of a new window is first 0, and then the size of the content without the window's
        // bars.
        return Math.max(Reflect.apply(call, context, given), (size || globalThis[inner]) + bars);
      },
    });
    Object.defineProperty(globalThis, outer, own);
  }
}
