// A selector engine for Playwright. It finds controls of the form that `root` belongs to, in the order of the
// page. A control belongs to the form around it, or to the form that its `form` attribute names. `wanted` is
// JSON: {"name": "user"} finds the controls with this name or id. {"submit": ""} finds the buttons that submit
// the form, and {"submit": "Sign in"} finds the buttons with this text, name or value.
(() => {
  const getter = (kind, name) => {
    const { get } = Object.getOwnPropertyDescriptor(kind.prototype, name);
    return (node) => Reflect.apply(get, node, []);
  };
  const method = (kind, name) => {
    const own = kind.prototype[name];
    return (node, ...given) => Reflect.apply(own, node, given);
  };
  const localName = getter(Element, "localName"), getRootNode = method(Node, "getRootNode"), closest = method(Element, "closest");
  const kinds = { button: HTMLButtonElement, input: HTMLInputElement, select: HTMLSelectElement, textarea: HTMLTextAreaElement };
  const owners = Object.fromEntries(Object.entries(kinds).map(([name, kind]) => [name, getter(kind, "form")]));
  const controls = Object.keys(kinds).join();
  const formOf = (one) => localName(one) === "form" ? one : owners[localName(one)] ? owners[localName(one)](one) : closest(one, "form");
  const all = (form) => {
    const top = getRootNode(form);
    const kind = top instanceof Document ? Document : top instanceof DocumentFragment ? DocumentFragment : Element;
    return [...method(kind, "querySelectorAll")(top, controls)].filter((one) => owners[localName(one)](one) === form);
  };
  const lower = (text) => text.replace(/\s+/g, " ").trim().toLowerCase();
  const submits = (one, said) => {
    if (!said) return one.matches(":is(button:not([type=button i], [type=reset i]), input:is([type=submit i], [type=image i]))");
    if (!one.matches("button, input")) return false;
    return one.name === said || one.getAttribute("value") === said || (one.matches("button") && lower(one.textContent).includes(lower(said)));
  };
  const queryAll = (root, text) => {
    const wanted = JSON.parse(text), form = root instanceof Element ? formOf(root) : null;
    if (!form) return [];
    return all(form).filter((one) => "name" in wanted ? one.name === wanted.name || one.id === wanted.name : submits(one, wanted.submit));
  };
  return { queryAll, query: (root, text) => queryAll(root, text)[0] };
})()
