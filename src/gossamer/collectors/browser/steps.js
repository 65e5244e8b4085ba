// Finds the element of a step in this document, and acts on it. Returns JSON. The argument:
// - `css`: the selector of the element. It also finds elements in open shadow roots, and a space in it may stand for
//   the border of a shadow root. `control`: instead of the element, a control of the element's form: `{name}` is the
//   control with this name or id, and `{submit}` is the button that submits the form, or the button with this text,
//   name or value. The first control is taken.
// - `act`: `there` (the element exists), `point` (it can be clicked), `arm` (like `point`; links and forms that would open
//   a window then open their page in the tab), `disarm` (ends `arm`), `fill` and `select` (with `text`), `frame`
//   (returns the element itself, an iframe), `text` (the document shows `text`) or `page` (describes the document).
// - `inside`: for `point`, a point in the content of an iframe, in place of the element's own center.
// - `turn`: how often this was asked before, because an element under another one may be free after scrolling.
// The answer has a `state`: `ok`, or what prevents the act. `x` and `y` are the point in this document's window.
// A form field named `childNodes` hides the form's own property. Therefore the script reads properties with the
// getters of their prototypes, in a world whose objects the page cannot change.
(asked) => {
  const uncurry = Function.prototype.bind.bind(Function.prototype.call);
  const descriptor = (kind, name) => Object.getOwnPropertyDescriptor(kind.prototype, name);
  const getter = (kind, name) => uncurry(descriptor(kind, name).get);
  const setter = (kind, name) => uncurry(descriptor(kind, name).set);
  const method = (kind, name) => uncurry(kind.prototype[name]);
  const localName = getter(Element, "localName"), shadowRoot = getter(Element, "shadowRoot"), assignedSlot = getter(Element, "assignedSlot");
  const getAttribute = method(Element, "getAttribute"), setAttribute = method(Element, "setAttribute"), removeAttribute = method(Element, "removeAttribute");
  const closest = method(Element, "closest"), matches = method(Element, "matches"), box = method(Element, "getBoundingClientRect");
  const boxes = method(Element, "getClientRects"), shown = method(Element, "checkVisibility"), scrollTo = method(Element, "scrollIntoView");
  const getRootNode = method(Node, "getRootNode"), parentNode = getter(Node, "parentNode"), textContent = getter(Node, "textContent");
  const host = getter(ShadowRoot, "host"), send = method(EventTarget, "dispatchEvent"), innerText = getter(HTMLElement, "innerText");
  const clientLeft = getter(Element, "clientLeft"), clientTop = getter(Element, "clientTop"), editable = getter(HTMLElement, "isContentEditable");
  const focus = method(HTMLElement, "focus"), command = method(Document, "execCommand"), bodyOf = getter(Document, "body"), childrenOf = getter(DocumentFragment, "children");
  const fields = { input: HTMLInputElement, textarea: HTMLTextAreaElement };
  const controls = { ...fields, button: HTMLButtonElement, select: HTMLSelectElement };
  const kindOf = (top) => top instanceof Document ? Document : top instanceof DocumentFragment ? DocumentFragment : Element;
  const select = (top, css) => [...method(kindOf(top), "querySelectorAll")(top, css)];
  const isShadow = (node) => node instanceof ShadowRoot;
  const roots = (top) => [top, ...select(top, "*").map(shadowRoot).filter((one) => one).flatMap(roots)];
  const spaced = (text) => text.replace(/\s+/g, " ").trim();
  const short = (text, most) => text.length > most ? text.slice(0, most) + "…" : text;

  const told = (node) => {  // the start tag and the text of an element, for people
    const said = ["id", "class", "name", "type", "role", "href", "src"].filter((name) => getAttribute(node, name));
    const tag = [localName(node), ...said.map((name) => `${name}="${short(getAttribute(node, name), 30)}"`)].join(" ");
    return short(`<${tag}>`, 100) + short(spaced(textContent(node)), 30);
  };

  const parts = (css, sign) => {  // splits outside of brackets and quotes
    const found = [""];
    let depth = 0, quote = "";
    for (let at = 0; at < css.length; at++) {
      const one = css[at];
      if (one === "\\") { found[found.length - 1] += one + (css[++at] || ""); continue; }
      if (quote ? one === quote : /["']/.test(one)) quote = quote ? "" : one;
      else if (!quote) depth += /[[(]/.test(one) ? 1 : /[\])]/.test(one) ? -1 : 0;
      if (!quote && !depth && sign.test(one)) found.push(""); else found[found.length - 1] += one;
    }
    return found.map((one) => one.trim()).filter((one) => one);
  };
  const hosts = (root) => isShadow(root) ? [host(root), ...hosts(getRootNode(host(root)))] : [];
  const across = (css, all) => parts(css, /,/).flatMap((one) => {  // the last words of a selector, in a shadow root
    const words = parts(one, /\s/), found = [];
    for (let at = 1; at < words.length; at++) {
      if (/^[>+~]/.test(words[at]) || /[>+~]$/.test(words[at - 1])) continue;
      const before = words.slice(0, at).join(" "), after = words.slice(at).join(" ");
      for (const root of all) if (hosts(root).some((one) => closest(one, before))) found.push(...select(root, after));
    }
    return found;
  });
  const search = (css) => {
    const all = roots(document);
    return [...new Set([...all.flatMap((root) => select(root, css)), ...(all.length > 1 ? across(css, all) : [])])];
  };

  const ownerOf = (node) => controls[localName(node)] ? getter(controls[localName(node)], "form")(node) : null;
  const formOf = (node) => localName(node) === "form" ? node : ownerOf(node) || closest(node, "form");
  const inside = (top) => select(top, "*").flatMap((one) => shadowRoot(one) ? [one, ...inside(shadowRoot(one))] : [one]);
  const submits = (node, said) => {
    if (!said) return matches(node, ":is(button:not([type=button i], [type=reset i]), input:is([type=submit i], [type=image i]))");
    if (!matches(node, "button, input")) return false;
    const lower = (text) => spaced(text).toLowerCase();
    return [getAttribute(node, "name"), getAttribute(node, "value")].includes(said) || (localName(node) === "button" && lower(textContent(node)).includes(lower(said)));
  };
  const control = (top, wanted) => {
    const form = formOf(top);
    const owned = form ? select(getRootNode(form), Object.keys(controls).join()).filter((one) => ownerOf(one) === form) : [];
    const all = [...new Set([...owned, ...inside(form || top)])];
    if ("submit" in wanted) return all.filter((one) => submits(one, wanted.submit));
    return all.filter((one) => [getAttribute(one, "name"), getAttribute(one, "id")].includes(wanted.name));
  };

  const isVisible = (node) => shown(node, { visibilityProperty: true }) && [...boxes(node)].some((one) => one.width > 0 && one.height > 0);
  const chosen = () => {
    let found;
    try { found = search(asked.css); } catch { return { state: "invalid" }; }
    if (asked.control) found = found.flatMap((one) => control(one, asked.control)).slice(0, 1);
    if (!found.length) return { state: "none" };
    if (asked.act === "there") return { state: "ok", node: found[0] };
    const seen = found.filter(isVisible);
    if (seen.length > 1) return { state: "several", n: seen.length, what: seen.slice(0, 3).map(told) };
    const [node] = seen.length ? seen : found;
    if (!seen.length) return { state: "hidden", n: found.length, what: [told(node)] };
    const unable = matches(node, ":disabled") || closest(node, "[aria-disabled=true i]");
    return { state: unable && asked.act !== "frame" ? "disabled" : "ok", node, what: [told(node)] };
  };

  const parentOf = (node) => assignedSlot(node) || (isShadow(parentNode(node)) ? host(parentNode(node)) : parentNode(node));
  const holds = (node, other) => { for (let one = other; one && one !== document; one = parentOf(one)) if (one === node) return true; return false; };
  const under = (x, y) => {
    let found = method(Document, "elementFromPoint")(document, x, y);
    for (let root; found && (root = shadowRoot(found));) {
      const inner = method(ShadowRoot, "elementFromPoint")(root, x, y);
      if (!inner || inner === found) break;
      found = inner;
    }
    return found;
  };
  const labels = (node, hit) => { const label = hit && closest(hit, "label"); return label && getter(HTMLLabelElement, "control")(label) === node; };
  const sees = (x, y) => x >= 0 && y >= 0 && x < innerWidth && y < innerHeight;
  const seen = (one) => {  // the part of a rectangle that is in the window
    const left = Math.max(0, one.left), top = Math.max(0, one.top);
    return { left, top, width: Math.min(innerWidth, one.right) - left, height: Math.min(innerHeight, one.bottom) - top };
  };
  const point = (found) => {
    const { node } = found;
    if (asked.inside) {
      const style = getComputedStyle(node), at = box(node);
      const x = at.left + clientLeft(node) + parseFloat(style.paddingLeft) + asked.inside[0];
      const y = at.top + clientTop(node) + parseFloat(style.paddingTop) + asked.inside[1];
      if (!sees(x, y)) window.scrollBy({ left: x - innerWidth / 2, top: y - innerHeight / 2, behavior: "instant" });
      Object.assign(found, { x, y, width: 0, height: 0, moves: !sees(x, y) });
    } else {
      const areas = [...boxes(node)].map(seen).filter((one) => one.width >= 1 && one.height >= 1);
      const area = areas.sort((one, other) => other.width * other.height - one.width * one.height)[0];
      if (!area) scrollTo(node, { block: "center", inline: "center", behavior: "instant" });
      if (!area) return { ...found, state: "moving" };
      Object.assign(found, { x: area.left + area.width / 2, y: area.top + area.height / 2, width: area.width, height: area.height });
    }
    if (found.moves) return { ...found, state: "moving" };
    const hit = under(found.x, found.y);
    if (hit && (holds(node, hit) || labels(node, hit))) return found;
    if (!asked.inside && asked.turn < 4) scrollTo(node, { block: ["center", "end", "start", "nearest"][asked.turn], behavior: "instant" });
    return { ...found, state: "covered", by: hit ? told(hit) : "" };
  };

  const ARMED = "gossamerArmed";
  const disarm = () => {
    for (const [node, before] of Object.hasOwn(globalThis, ARMED) ? globalThis[ARMED] : [])
      before === null ? removeAttribute(node, "target") : setAttribute(node, "target", before);
    delete globalThis[ARMED];
    return { state: "ok" };
  };
  const arm = ({ node }) => {
    disarm();
    const known = ["_self", "_parent", "_top", ...select(document, "iframe[name], frame[name]").map((one) => getAttribute(one, "name"))];
    const base = select(document, "base[target]")[0], armed = [];
    for (const one of new Set([closest(node, "a[href], area[href]"), formOf(node)])) {
      if (!one) continue;
      const own = getAttribute(one, "target"), target = own ?? (base ? getAttribute(base, "target") : "");
      if (!target || known.includes(target.toLowerCase()) || known.includes(target)) continue;
      armed.push([one, own]);
      setAttribute(one, "target", "_top");
    }
    globalThis[ARMED] = armed;
  };

  const event = (node, name) => send(node, new Event(name, { bubbles: true, composed: true }));
  const fill = ({ node, what }) => {
    const kind = fields[localName(node)], type = localName(node) === "input" ? getter(HTMLInputElement, "type")(node) : "text";
    if (!kind && !(node instanceof HTMLElement && editable(node))) return { state: "no field", what };
    if (/^(?:button|checkbox|file|hidden|image|radio|reset|submit)$/.test(type)) return { state: "no field", what };
    if (kind && getter(kind, "readOnly")(node)) return { state: "readonly", what };
    focus(node);
    if (!kind) {
      command(document, "selectAll", false, null);
      command(document, asked.text ? "insertText" : "delete", false, asked.text);
      return { state: "ok" };
    }
    const value = getter(kind, "value"), before = value(node);
    if (/^(?:text|search|url|tel|email|password|number)$/.test(type)) {
      method(kind, "select")(node);  // the browser inserts the text as if it was pasted
      command(document, asked.text ? "insertText" : "delete", false, asked.text);
    }
    if (value(node) === before && before !== asked.text) {
      setter(kind, "value")(node, asked.text);
      event(node, "input");
      event(node, "change");
    }
    return { state: "ok" };
  };
  const choose = ({ node, what }) => {
    if (localName(node) !== "select") return { state: "no select", what };
    const all = select(node, "option"), label = (one) => spaced(getter(HTMLOptionElement, "label")(one) || textContent(one));
    const one = all.find((one) => getter(HTMLOptionElement, "value")(one) === asked.text) || all.find((one) => label(one) === spaced(asked.text));
    if (!one || matches(one, ":disabled")) return { state: "no option", what, options: all.slice(0, 8).map(label) };
    focus(node);
    setter(HTMLOptionElement, "selected")(one, true);
    event(node, "input");
    event(node, "change");
    return { state: "ok" };
  };

  const texts = () => roots(document).map((root) => root === document
    ? (bodyOf(document) ? innerText(bodyOf(document)) : "")
    : [...childrenOf(root)].filter((one) => one instanceof HTMLElement && shown(one)).map((one) => innerText(one)).join(" "));
  const text = () => spaced(texts().join(" "));
  const page = () => ({
    state: "ok", title: short(getter(Document, "title")(document), 60), text: short(text(), 80),
    frames: select(document, "iframe, frame").filter(isVisible).slice(0, 3).map(told),
  });

  const answer = () => {
    if (asked.act === "page") return page();
    if (asked.act === "disarm") return disarm();
    if (asked.act === "text") return { state: text().includes(spaced(asked.text)) ? "ok" : "no text" };
    const found = chosen();
    if (found.state !== "ok" || asked.act === "there") return found;
    if (asked.act === "fill") return fill(found);
    if (asked.act === "select") return choose(found);
    if (asked.act === "frame") return /^i?frame$/.test(localName(found.node)) ? found : { ...found, state: "no frame" };
    const at = point(found);
    if (asked.act === "arm" && at.state === "ok") arm(at);
    return at;
  };
  const given = answer();
  if (asked.element) return given.state === "ok" ? given.node : null;
  delete given.node;
  return JSON.stringify(given);
}
