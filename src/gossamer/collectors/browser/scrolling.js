// Scrolls what scrolls in the current document, and keeps the rows that leave it. Called once per document with
// the functions of the reading script (`rendered.js`), so that no name of the page hides a property. Leaves an
// object in `globalThis[Symbol.for("gossamer.scrolling")]`, which belongs to gossamer's world:
// - `begin()`: looks at the page. Called before each series of steps.
// - `aim(leave)`: returns [x, y, down]: the point in the window and the distance for a wheel that makes the next step.
// - `step(leave)`: scrolls every inner box in view by most of its size, or else the window. `leave`: whether the
//   window may move although inner boxes in view may still get rows at their ends. Returns the state.
// - `press(selector)`: clicks a visible element that the selector finds. Returns [whether there was one].
// - `centre(selector)`: scrolls this element into view instead, and returns [x, y].
// - `wait(ms)`: returns the state as soon as rows came, or after `ms`.
// - `far()`: returns [the number of frames of other origins that were in view]. They have scripts of their own.
// - `bring(number)`: scrolls such a frame into view, and returns its element, or null if it cannot be scrolled.
// - `tire()`: a wait was in vain. Rows without text, and a pressed element, are not waited for again.
// - `lists`: the rows that were in the page, by the element that contains them (see `rendered.js`).
// The state is [moved, grown, blank, goes on, weight]: whether something moved; whether a box or the window became
// larger than ever, or elements came; how many rows in view have no text yet; whether the window is not at its end;
// and the number of characters of the document and of the kept rows.
(dom) => {
  const { getter, method, localName, isElement, shadowRoot, select, copies, contentDocument, orNull, getAttribute, parentOf, outerHTML, rectOf } = dom;
  const childrenOf = getter(Element, "children"), inShadow = getter(DocumentFragment, "children");
  const scrollTop = getter(Element, "scrollTop"), scrollLeft = getter(Element, "scrollLeft"), scrollTo = method(Element, "scrollTo");
  const high = getter(Element, "scrollHeight"), wide = getter(Element, "scrollWidth"), clientHeight = getter(Element, "clientHeight"), clientWidth = getter(Element, "clientWidth");
  const textContent = getter(Node, "textContent"), isConnected = getter(Node, "isConnected");
  const addressOf = getter(Document, "URL"), readyState = getter(Document, "readyState");
  const scrolling = getter(Document, "scrollingElement"), within = method(Element, "querySelectorAll"), matches = method(Element, "matches");
  const click = method(HTMLElement, "click"), intoView = method(Element, "scrollIntoView");
  const ELEMENTS = 20000, SHARE = 0.85, WRITTEN = /[\p{L}\p{N}]/u;

  const scrollers = new Map(), lists = new Map(), places = new Map(), frames = new WeakMap(), far = new Set(), tired = new WeakSet(), watched = new WeakSet();
  let inView = [], blank = 0, blanks = [], elements = 0, stepped = false;  // of the current look
  let most = 0, looks = 0, weighed = 0, weight = 0, held = 0, grown = false;
  let wake = () => 0, changed = false, pressed = null, expected = false, aimed = [];
  const observer = new MutationObserver(() => { changed = true; wake(); });
  const watch = (page) => {
    if (watched.has(page)) return;
    watched.add(page);
    observer.observe(page, { childList: true, characterData: true, subtree: true });
  };

  const kids = (node) => { const root = shadowRoot(node); return root ? [...inShadow(root), ...childrenOf(node)] : [...childrenOf(node)]; };
  const size = (box) => box.axis === "y" ? clientHeight(box.node) : clientWidth(box.node);
  const extent = (box) => box.axis === "y" ? high(box.node) : wide(box.node);
  const at = (box) => box.axis === "y" ? scrollTop(box.node) : scrollLeft(box.node);
  const left = (box) => extent(box) - size(box) - Math.abs(at(box));
  const canMove = (box) => left(box) > 2 && box.stuck !== extent(box);
  const put = (box, value) => scrollTo(box.node, { [box.axis === "y" ? "top" : "left"]: value, behavior: "instant" });

  // Returns the box that an element is, or undefined if it does not scroll.
  const boxOf = (node, isPage) => {
    const down = high(node) > clientHeight(node) + 1, across = wide(node) > clientWidth(node) + 1;
    if (!isPage) {
      if (!(down || across) || clientHeight(node) < 16 || clientWidth(node) < 40 || /^(?:textarea|select|input|pre|code)$/.test(localName(node))) return;
      const style = getComputedStyle(node), scrolls = /^(?:auto|scroll|overlay)$/;
      if (!(down && scrolls.test(style.overflowY)) && !(across && scrolls.test(style.overflowX))) return;
      if (!(down && scrolls.test(style.overflowY))) return known(node, "x", style);
    }
    return known(node, down || !across ? "y" : "x", null);
  };
  const known = (node, axis, style) => {
    if (!scrollers.has(node)) scrollers.set(node, { node, axis, largest: 0, done: -1, stuck: -1, sign: style && style.direction === "rtl" ? -1 : 1, pinned: pinned(node) });
    const box = scrollers.get(node);
    box.axis = axis;
    return box;
  };
  const pinned = (node) => {
    for (let one = node; one && isElement(one); one = parentOf(one)) if (/^(?:fixed|sticky)$/.test(getComputedStyle(one).position)) return true;
    return false;
  };

  // What a row says: its text and its links. A row inside a shadow root says what its copy says.
  const said = (row) => {
    let text = textContent(row);
    for (const one of within(row, "[href],[src],[srcset],[alt],[value]"))
      for (const name of ["href", "src", "alt", "value"]) text += "\n" + (getAttribute(one, name) || "");
    return (getAttribute(row, "href") || getAttribute(row, "src") || "") + text;
  };
  const area = (box, isPage) => {
    if (isPage) return { top: 0, left: 0, bottom: clientHeight(box.node), right: clientWidth(box.node) };
    const { top, left } = rectOf(box.node);
    return { top, left, bottom: top + clientHeight(box.node), right: left + clientWidth(box.node) };
  };
  const meet = (a, b) => a.top < b.bottom && a.bottom > b.top && a.left < b.right && a.right > b.left;
  const cut = (a, b) => ({ top: Math.max(a.top, b.top), left: Math.max(a.left, b.left), bottom: Math.min(a.bottom, b.bottom), right: Math.min(a.right, b.right) });

  // Looks at what is in or near the view of a box, and remembers its rows.
  const enter = (box, isPage, seen, path) => {
    const whole = area(box, isPage), view = cut(whole, seen), far = box.axis === "y" ? whole.bottom - whole.top : whole.right - whole.left;
    const near = box.axis === "y" ? { ...whole, top: whole.top - far, bottom: whole.bottom + far, left: -1e7, right: 1e7 }
      : { ...whole, left: whole.left - far, right: whole.right + far, top: -1e7, bottom: 1e7 };
    inView.push(box);
    box.middle = [(view.left + view.right) / 2, (view.top + view.bottom) / 2];
    if (extent(box) > box.largest) { grown ||= box.largest > 0; box.largest = extent(box); }
    const place = (rect) => box.axis === "y"
      ? { at: rect.top - whole.top + scrollTop(box.node), size: rect.bottom - rect.top, across: rect.left - whole.left, width: rect.right - rect.left }
      : { at: rect.left - whole.left + scrollLeft(box.node), size: rect.right - rect.left, across: rect.top - whole.top, width: rect.bottom - rect.top };
    const start = place(whole).at;
    descend(box.node, { box, view, near, place, start, end: start + far }, path);
  };
  const frame = (node) => { if (!frames.has(node)) frames.set(node, { plain: false }); return frames.get(node); };
  const loaded = (node, page) => !page || !getAttribute(node, "src") || (addressOf(page) !== "about:blank" && readyState(page) === "complete");
  const descend = (node, here, path) => {
    if (++elements > ELEMENTS) return;
    const children = kids(node), rects = children.map((child) => rectOf(child));
    children.forEach((child, number) => {
      const rect = rects[number], visible = meet(rect, here.view), name = `${path}/${number}${localName(child)}`;
      if (/^(?:script|style|template|svg|head)$/.test(localName(child))) return;
      if (localName(child) === "iframe") {
        const page = visible && orNull(() => contentDocument(child)), top = page && scrolling(page);
        if (visible && !loaded(child, page)) { blanks.push(frame(child)); blank += frame(child).plain ? 0 : 1; }
        if (visible && !page) far.add(child);
        if (!top) return;
        watch(page);
        const box = boxOf(top, true), seen = { top: 0, left: 0, bottom: clientHeight(top), right: clientWidth(top) };
        enter(box, true, seen, name);
        box.middle = [rect.left + box.middle[0], rect.top + box.middle[1]];
        return;
      }
      if (child !== here.box.node && visible) {
        const box = boxOf(child, false);
        if (box && child !== scrolling(document)) return enter(box, false, here.view, name);
      }
      const empty = rect.width === 0 || rect.height === 0;
      if (empty || children.length < 8 || meet(rect, here.near)) descend(child, here, name);
    });
    remember(node, children, rects, here, path);
  };

  // Brings the kept rows of a list up to date. A list has children that are alike and follow one another along the
  // axis in which the box scrolls. A row is known by its place in the box.
  const remember = (node, children, rects, here, path) => {
    const counts = new Map();
    for (const child of children) counts.set(localName(child), (counts.get(localName(child)) || 0) + 1);
    if (Math.max(0, ...counts.values()) < 2 && !lists.has(node) && !places.has(path)) return;
    const rows = [];
    let last = -Infinity;
    children.forEach((element, number) => {
      const rect = rects[number];
      const where = here.place(rect);
      if (where.size <= 0) return;
      if (where.at < here.end) last = Math.max(last, where.at + where.size);
      if (where.size <= here.end - here.start && meet(rect, here.near)) rows.push({ element, ...where, text: said(element) });
    });
    if (!lists.has(node) && !rows.some((row) => Math.abs(row.at - rows[0].at) > 1)) return;
    let list = lists.get(node) || places.get(path);
    if (!list || (list.node !== node && isConnected(list.node))) list = { rows: [], plain: false };
    if (list.node !== node) { lists.delete(list.node); list.node = node; lists.set(node, list); places.set(path, list); }
    update(list, rows, here);
    blankOf(list, rows, here, last, rectOf(node));
  };
  const same = (a, b) => Math.abs(a.at - b.at) < Math.min(a.size, b.size) / 2 && Math.abs(a.across - b.across) <= Math.min(a.width, b.width) / 2;
  const update = (list, rows, here) => {
    const live = new Map(), present = new Set(), texts = new Map(), recent = new Map(), shifts = [];
    const count = (all, one) => all.set(one.text, all.has(one.text) ? null : one);
    for (const one of list.rows) { if (one.element) live.set(one.element, one); if (one.recent) count(recent, one); one.recent = false; }
    for (const row of rows) count(texts, row);
    for (const [text, row] of texts) if (row && recent.get(text) && WRITTEN.test(text)) shifts.push(row.at - recent.get(text).at);
    const shift = shifts.sort((a, b) => a - b)[shifts.length >> 1] || 0;  // of rows that were there a step ago
    if (Math.abs(shift) > 1) for (const one of list.rows) one.at += shift;
    const set = (one, row) => {
      if (one.text !== row.text || !one.copies) { held += row.text.length; one.copies = copies(row.element); }
      Object.assign(one, row, { recent: true });
      present.add(one);
    };
    const fresh = [];
    for (const row of rows) {
      const own = live.get(row.element), before = recent.get(row.text), one = before && texts.get(row.text) && same(before, row) ? before : own;
      const moved = one && one.text === row.text && Math.abs(one.at - row.at) < 0.8 * (here.end - here.start);
      const known = one && !present.has(one) && (moved || same(one, row));
      if (own && !present.has(own) && !(known && one === own)) own.element = null;  // the element has another row now
      if (known) set(one, row);
      else fresh.push(row);
    }
    for (const row of fresh) {  // drawn anew in the place of an old row, or new
      const old = list.rows.find((one) => !present.has(one) && same(one, row) && (WRITTEN.test(row.text) || !WRITTEN.test(one.text)));
      if (old) set(old, row);
      else { const made = {}; list.rows.push(made); set(made, row); }
    }
    list.rows = list.rows.filter((one) => {
      if (present.has(one)) return true;
      if (one.element && parentOf(one.element) !== list.node) one.element = null;
      if (one.element) return true;
      const middle = one.at + one.size / 2;  // a row that left while nothing moved and it was in view was taken away by the page
      return WRITTEN.test(one.text) && (stepped || middle < here.start || middle > here.end) && ![...present].some((row) => same(one, row) && WRITTEN.test(row.text));
    });
  };
  // Counts the rows in view that are not there yet: without text, like one another, or not drawn at all.
  const blankOf = (list, rows, here, last, rect) => {
    if (list.plain) return;
    const shown = rows.filter((row) => row.at + row.size / 2 > here.start && row.at + row.size / 2 < here.end);
    const sizes = rows.map((row) => row.size).sort((a, b) => a - b), usual = sizes[sizes.length >> 1] || 0;
    const texts = new Map();
    for (const row of shown) texts.set(row.text, (texts.get(row.text) || 0) + 1);
    let found = shown.filter((row) => Math.abs(row.size - usual) <= usual / 2 && shown.length > 2
      && (!WRITTEN.test(row.text) || (texts.get(row.text) > 1 && !/\n\S/.test(row.text)))).length;
    const whole = here.place(rect), end = Math.min(here.end, whole.at + whole.size);
    if (rows.length > 1 && usual && whole.at < here.start + 1 && end - Math.max(last, here.start) > Math.max(1.5 * usual, (here.end - here.start) / 4)) found++;
    if (found) blanks.push(list);
    blank += found;
  };

  const look = (counts, moved) => {  // `counts`: whether further elements mean that rows came
    stepped = moved;
    observer.takeRecords();
    inView = []; blanks = []; blank = elements = 0; changed = false;
    const top = scrolling(document);
    if (!top) return;
    watch(document);
    const page = boxOf(top, true);
    enter(page, true, { top: 0, left: 0, bottom: clientHeight(top), right: clientWidth(top) }, "");
    const count = select(document, "*").length;
    if (count > 1.1 * weighed || ++looks % 16 === 0) {  // an estimate, because to serialize a page takes time
      weighed = count;
      weight = held + outerHTML(getter(Document, "documentElement")(document)).length;
    }
    if (count > most) { grown ||= counts || expected; most = count; }
  };
  const told = (moved, counts) => {
    const found = [moved, grown && (counts || expected), blank, Boolean(page()) && canMove(page()), weight];
    if (grown) expected = false;
    grown = false;
    return found;
  };
  const drawn = () => new Promise((resolve) => {
    setTimeout(resolve, 100);  // a tab that is not drawn has no frames
    requestAnimationFrame(() => setTimeout(resolve, 5));  // after the page's own callbacks and observers
  });
  const page = () => inView[0];
  const waits = (box) => box !== page() && !box.pinned && extent(box) > box.done;
  const next = (leave) => {
    const moving = inView.filter((box) => box !== page() && canMove(box));
    if (moving.length || !page() || !canMove(page()) || (!leave && inView.some(waits))) return moving;
    for (const box of inView) if (box !== page()) box.done = extent(box);
    return [page()];
  };
  const stride = (box) => box.sign * Math.max(1, Math.min(Math.floor(size(box) * SHARE), left(box)));

  const clickable = (selector) => [...select(document, selector)].find((one) => {
    const rect = rectOf(one);
    return !tired.has(one) && rect.width > 0 && rect.height > 0 && getComputedStyle(one).visibility === "visible"
      && !matches(one, ":disabled,[aria-disabled=true]");
  });

  globalThis[Symbol.for("gossamer.scrolling")] = {
    lists,
    begin: () => {
      for (const box of scrollers.values()) box.done = box.stuck = -1;
      look(false, false);
      return told(false, true);
    },
    aim: (leave) => {
      aimed = next(leave).slice(0, 1).map((box) => [box, at(box), stride(box)]);
      return aimed.length && aimed[0][0].axis === "y" ? [...aimed[0][0].middle, aimed[0][2]] : [0, 0, 0];
    },
    step: async (leave) => {
      const moving = aimed.length ? aimed : next(leave).map((box) => [box, at(box), stride(box)]);
      aimed = [];
      let moved = false, near = false;
      for (const [box, before, by] of moving) {
        put(box, before + by);
        near ||= left(box) <= size(box);
        if (at(box) === before) box.stuck = extent(box);
        else moved = true;
      }
      if (moved) await drawn();
      look(false, moved);
      return told(moved, near);
    },
    centre: (selector) => {
      expected = Boolean(pressed = clickable(selector) || null);
      if (!pressed) return [0, 0];
      intoView(pressed, { block: "center" });
      const rect = rectOf(pressed);
      return [rect.left + rect.width / 2, rect.top + rect.height / 2];
    },
    press: (selector) => {
      expected = Boolean(pressed = clickable(selector) || null);
      if (pressed) { intoView(pressed, { block: "center" }); click(pressed); }
      return [pressed !== null];
    },
    wait: async (ms) => {
      const end = performance.now() + ms, before = blank;
      for (;;) {
        const rest = end - performance.now();
        if (!changed) await new Promise((resolve) => { wake = resolve; setTimeout(resolve, Math.min(100, Math.max(0, rest))); });
        await new Promise((resolve) => { setTimeout(resolve, 30); requestAnimationFrame(resolve); });
        look(true, false);
        if (grown || blank !== before || rest <= 0) break;
      }
      return told(false, true);
    },
    far: () => [far.size],
    bring: (number) => {
      const node = [...far][number], { width, height } = rectOf(node);
      if (!isConnected(node) || width < 40 || height < 16) return null;
      intoView(node, { block: "center", behavior: "instant" });
      return node;
    },
    tire: () => {
      for (const list of blanks) list.plain = true;
      if (expected) tired.add(pressed);
      expected = false;
      return [];
    },
  };
  return true;
}
