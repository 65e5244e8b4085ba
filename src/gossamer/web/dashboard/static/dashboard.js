// Live changes, keys, theme and copying. Every page works without this file.
"use strict";

const live = document.getElementById("live");
// The path below which a proxy serves these pages.
const base = document.body.dataset.base ?? "";
let paused = false;
let source = null;
let waiting = false;

// Loads the page again, and changes what differs. What a person has opened or typed stays.
async function refresh() {
  const main = document.getElementById("main");
  const typing = document.activeElement?.closest(".actions, .filters, dialog");
  if (!main.querySelector("[data-live]") || waiting || typing) return;
  waiting = true;
  try {
    const answer = await fetch(location.href, { redirect: "error" });
    const text = await answer.text();
    if (answer.ok) {
      await htmx.swap({ sourceElement: main, target: main, text, select: "#main", swap: "outerMorph" });
      tell(true);
    } else {
      tell(false, answer.status === 404 ? "no longer there" : "no answer");
    }
  } catch {
    tell(false, "no answer");
  } finally {
    waiting = false;
  }
}

function tell(good, what = "") {
  const time = new Date().toTimeString().slice(0, 8);
  live.classList.toggle("on", good);
  if (good) {
    live.textContent = `live, ${time}`;
    document.body.classList.remove("stale");
  } else if (!document.body.classList.contains("stale")) {
    live.textContent = `${what} since ${time}`;
    document.body.classList.add("stale");
  }
}

function watch() {
  source?.close();
  source = null;
  if (paused || document.hidden || !document.querySelector("[data-live]")) {
    live.classList.remove("on");
    if (paused) live.textContent = "stopped: p continues";
    return;
  }
  const crawl = document.body.dataset.crawl;
  source = new EventSource(crawl ? `${base}/live?crawl=${encodeURIComponent(crawl)}` : `${base}/live`);
  source.onopen = refresh;
  source.onerror = async () => {
    tell(false, "no answer");
    if (source.readyState !== EventSource.CLOSED) return;
    // The server refuses: the token may have ended. A stream that only broke off comes back by itself.
    const answer = await fetch(location.href, { redirect: "manual" }).catch(() => null);
    if (answer?.type === "opaqueredirect") live.textContent = "logged out: load the page again";
    else setTimeout(watch, 5000);
  };
  for (const kind of ["crawl.started", "crawl.updated", "crawl.changed", "crawl.ended"]) source.addEventListener(kind, refresh);
}

// Marks the next or the previous row.
function move(step) {
  const rows = [...document.querySelectorAll("#shown tbody tr, #shown .card")];
  if (!rows.length) return;
  const at = rows.findIndex((row) => row.hasAttribute("data-at"));
  rows[at]?.removeAttribute("data-at");
  const next = rows[Math.min(rows.length - 1, Math.max(0, at + step))];
  next.setAttribute("data-at", "");
  next.scrollIntoView({ block: "nearest" });
}

function press(what) {
  (document.querySelector(`[data-at] ${what}`) ?? document.querySelector(what))?.click();
}

function changeTheme() {
  const dark = document.documentElement.dataset.theme === "dark" ||
    (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  const theme = dark ? "light" : "dark";
  document.documentElement.dataset.theme = theme;
  document.cookie = `gossamer_theme=${theme}; path=/; max-age=31536000; samesite=strict`;
}

let going = 0;
const keys = {
  "/": () => document.querySelector(".filters input, .filters select")?.focus(),
  "?": () => document.getElementById("keys").showModal(),
  g: () => { going = Date.now(); },
  j: () => move(1),
  k: () => move(-1),
  o: () => (document.querySelector("[data-at] a") ?? document.querySelector("#shown tbody a"))?.click(),
  x: () => document.querySelector(".actions button, .actions summary")?.focus(),
  R: () => press('form[action$="/requeue"] button'),
  y: () => press('button[value="same"]'),
  n: () => press('button[value="different"]'),
  t: changeTheme,
  p: () => {
    paused = !paused;
    watch();
  },
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea, dialog")) return;
  const goes = Date.now() - going < 2000;
  going = 0;
  const link = goes && document.querySelector(`[data-go="${CSS.escape(event.key)}"]`);
  const act = link ? () => link.click() : goes && event.key === "g" ? () => location.assign(`${base}/`) : keys[event.key];
  if (act) {
    event.preventDefault();
    act();
  }
});
document.addEventListener("visibilitychange", watch);
document.addEventListener("click", async (event) => {
  if (!event.target.closest(".more")) document.querySelector(".more")?.removeAttribute("open");
  const button = event.target.closest("button");
  if (button?.classList.contains("theme")) changeTheme();
  if (!button?.classList.contains("copy")) return;
  await navigator.clipboard.writeText(button.previousElementSibling.textContent);
  button.textContent = "Copied";
});
for (const button of document.querySelectorAll(".copy, .theme")) button.hidden = button.classList.contains("copy") && !navigator.clipboard;
watch();
