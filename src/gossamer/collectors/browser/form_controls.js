// A selector engine for Playwright. It finds controls of the form that `root` belongs to. First come the controls
// that the browser would send with the form: those inside of the form, and those that name the form in their `form`
// attribute. Then come the elements inside of the form's open shadow roots. If `root` belongs to no form, the
// elements inside of `root` are searched. `wanted` is JSON: {"name": "user"} finds the controls with this name or id.
// {"submit": ""} finds the buttons that submit the form, and {"submit": "Sign in"} finds the buttons with this text,
// name or value.
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
  const shadowRoot = getter(Element, "shadowRoot"), getAttribute = method(Element, "getAttribute");
  const kinds = { button: HTMLButtonElement, input: HTMLInputElement, select: HTMLSelectElement, textarea: HTMLTextAreaElement };
  const owners = Object.fromEntries(Object.entries(kinds).map(([name, kind]) => [name, getter(kind, "form")]));
  const controls = Object.keys(kinds).join();
  const formOf = (one) => localName(one) === "form" ? one : owners[localName(one)] ? owners[localName(one)](one) : closest(one, "form");
  const select = (top, query) => {
    const kind = top instanceof Document ? Document : top instanceof DocumentFragment ? DocumentFragment : Element;
    return [...method(kind, "querySelectorAll")(top, query)];
  };
  const owned = (form) => select(getRootNode(form), controls).filter((one) => owners[localName(one)](one) === form);
  const inside = (top) => select(top, "*").flatMap((one) => shadowRoot(one) ? [one, ...inside(shadowRoot(one))] : [one]);
  const lower = (text) => text.replace(/\s+/g, " ").trim().toLowerCase();
  const submits = (one, said) => {
    if (!said) return one.matches(":is(button:not([type=button i], [type=reset i]), input:is([type=submit i], [type=image i]))");
    if (!one.matches("button, input")) return false;
    return one.name === said || one.getAttribute("value") === said || (one.matches("button") && lower(one.textContent).includes(lower(said)));
  };
  const queryAll = (root, text) => {
    if (!(root instanceof Element)) return [];
    const wanted = JSON.parse(text), form = formOf(root);
    const all = [...new Set(form ? [...owned(form), ...inside(form)] : inside(root))];
    if ("submit" in wanted) return all.filter((one) => submits(one, wanted.submit));
    return all.filter((one) => getAttribute(one, "name") === wanted.name || getAttribute(one, "id") === wanted.name);
  };
  return { queryAll, query: (root, text) => queryAll(root, text)[0] };
})()
