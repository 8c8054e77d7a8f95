// What a browser adds to the page: it stays live, times are in the reader's zone, and the grid of ranks takes arrow keys.
// The server renders everything; this file only puts newer parts in the place of older ones.
"use strict";
(() => {
  const policy = window.trustedTypes
    ? window.trustedTypes.createPolicy("muster", { createHTML: (text) => text })
    : { createHTML: (text) => text };
  const live = () => document.getElementById("live");
  const POLL = 10000; // milliseconds between two loads where no stream can be had
  const RETRY = 60000; // milliseconds until a refused stream is tried again

  // ---- parts: an element of the same id replaces the one that is shown -------------------------------------------

  const elementOf = (html) => {
    const parsed = new DOMParser().parseFromString(policy.createHTML(`<template>${html}</template>`), "text/html");
    return parsed.querySelector("template").content.firstElementChild;
  };

  const swap = (id, html) => {
    const old = document.getElementById(id);
    const fresh = elementOf(html);
    if (!old || !fresh) return false;
    const focused = old.contains(document.activeElement) ? pathOf(document.activeElement, old) : null;
    keepInput(old, fresh);
    old.replaceWith(document.adoptNode(fresh));
    if (id !== "main") fresh.classList.add("fresh");
    if (focused) restoreFocus(fresh, focused);
    return true;
  };

  // Where the focused element is: by its id, its address, or its place among the cells.
  const pathOf = (element, root) => ({
    id: element.id,
    href: element.getAttribute("href"),
    cell: element.getAttribute("role") === "cell" ? cellsOf(root).indexOf(element) : -1,
  });

  const restoreFocus = (root, focused) => {
    const inside = (query) => (root.matches(query) ? root : root.querySelector(query));
    const found =
      (focused.id && inside(`#${CSS.escape(focused.id)}`)) ||
      (focused.href && inside(`a[href="${CSS.escape(focused.href)}"]`)) ||
      (focused.cell >= 0 && cellsOf(root)[focused.cell]);
    if (!found) return;
    if (found.getAttribute("role") === "cell") found.tabIndex = 0;
    found.focus({ preventScroll: true });
  };

  // A filter that is being edited is the reader's, not the server's; so is what is folded up.
  const keepInput = (old, fresh) => {
    for (const folded of old.querySelectorAll("details[id]")) {
      const next = fresh.querySelector(`#${CSS.escape(folded.id)}`);
      if (next) next.open = folded.open;
    }
    for (const field of old.querySelectorAll("form input[id], form select[id]")) {
      const next = fresh.querySelector(`#${CSS.escape(field.id)}`);
      if (!next) continue;
      if (field.matches("select")) {
        for (const option of next.options) option.selected = option.value === field.value;
      } else {
        next.value = field.value;
      }
    }
  };

  const show = (parts) => {
    if (!parts.every(([id, html]) => swap(id, html))) location.reload();
    count();
    reach();
  };

  // ---- the stream ------------------------------------------------------------------------------------------------

  const address = document.body.dataset.events;
  let version = document.body.dataset.version;
  let source = null;
  let timer = 0;

  const say = (text, state) => {
    const sign = live();
    if (!sign) return;
    if (sign.textContent !== text) sign.textContent = text;
    sign.className = state;
  };

  const stop = () => {
    if (source) source.close();
    source = null;
    clearTimeout(timer);
  };

  const follow = () => {
    stop();
    const url = new URL(address, location.href);
    url.searchParams.set("version", version);
    source = new EventSource(url);
    source.addEventListener("open", () => say("live", "on"));
    source.addEventListener("parts", (event) => {
      version = event.lastEventId;
      show(JSON.parse(event.data));
      say("live", "on");
    });
    source.addEventListener("refused", (event) => {
      stop();
      say(`no longer live: ${event.data}`, "off");
    });
    source.addEventListener("error", () => {
      const closed = source.readyState === EventSource.CLOSED;
      say(closed ? `reloads every ${POLL / 1000} s` : "connection lost, trying again", "off");
      if (closed) poll(Date.now() + RETRY);
    });
  };

  // The server has no stream left for this reader, or a proxy lets none through: load the page instead.
  const poll = (until) => {
    stop();
    timer = setTimeout(async () => {
      try {
        const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
        if (!answer.ok) throw new Error(`${answer.status}`);
        const parsed = new DOMParser().parseFromString(policy.createHTML(await answer.text()), "text/html");
        const main = parsed.getElementById("main");
        version = parsed.body.dataset.version;
        show([["main", main.outerHTML]]);
        say(`reloads every ${POLL / 1000} s`, "off");
      } catch (error) {
        say(`cannot be loaded (${error.message}), trying again`, "off");
      }
      if (Date.now() < until) poll(until);
      else follow();
    }, POLL);
  };

  // ---- times -----------------------------------------------------------------------------------------------------

  const full = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });
  const short = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
  const dated = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

  const lasting = (seconds) => {
    const whole = Math.max(0, Math.floor(seconds));
    const [days, hours, minutes] = [Math.floor(whole / 86400), Math.floor(whole / 3600), Math.floor(whole / 60)];
    if (days > 1) return `${days}d${hours - 24 * days}h`;
    if (hours > 0) return `${hours}h${minutes - 60 * hours}m`;
    return minutes > 0 ? `${minutes}m${whole - 60 * minutes}s` : `${whole}s`;
  };

  const count = () => {
    const now = Date.now();
    const today = new Date(now).toDateString();
    for (const time of document.querySelectorAll("time[datetime]")) {
      const at = new Date(time.dateTime);
      if (!time.dataset.count) {
        if (time.title) continue;
        time.title = full.format(at);
        time.textContent = (at.toDateString() === today ? short : dated).format(at);
        continue;
      }
      const seconds = (time.dataset.count === "up" ? now - at : at - now) / 1000;
      const down = seconds < 0 ? `over since ${lasting(-seconds)}` : `${lasting(seconds)} left`;
      const text = time.dataset.count === "down" ? down : lasting(seconds);
      if (time.textContent !== text) time.textContent = text;
      if (!time.dataset.zone) {
        time.dataset.zone = "own";
        time.title = full.format(at);
      }
    }
  };

  // ---- the grid of ranks -----------------------------------------------------------------------------------------

  const cellsOf = (root) => Array.from(root.querySelectorAll('.ranks [role="cell"]'));

  // One cell of the grid is in the order of the Tab key; arrows lead from there.
  const reach = () => {
    if (document.querySelector('.ranks [role="cell"][tabindex="0"]')) return;
    const first = document.querySelector(".ranks b.bad, .ranks b.warn") || document.querySelector('.ranks [role="cell"]');
    if (first) first.tabIndex = 0;
  };

  const point = (cell) => {
    const line = document.getElementById("pointed");
    if (line) line.textContent = cell ? cell.title : "";
  };

  const go = (from, to) => {
    if (!to) return;
    from.tabIndex = -1;
    to.tabIndex = 0;
    to.focus();
  };

  // The cell above or below: the nearest one in the next line of cells.
  const beside = (cell, cells, down) => {
    const here = cell.getBoundingClientRect();
    const step = down ? 1 : -1;
    let best = null;
    let line = null;
    for (let i = cells.indexOf(cell) + step; i >= 0 && i < cells.length; i += step) {
      const there = cells[i].getBoundingClientRect();
      if (Math.abs(there.top - here.top) < 2) continue;
      if (line !== null && Math.abs(there.top - line) > 2) break;
      line = there.top;
      const distance = Math.abs(there.left - here.left);
      if (best === null || distance < best.distance) best = { distance, cell: cells[i] };
    }
    return best && best.cell;
  };

  document.addEventListener("keydown", (event) => {
    const cell = event.target.closest && event.target.closest('.ranks [role="cell"]');
    if (!cell || event.ctrlKey || event.metaKey || event.altKey) return;
    const cells = cellsOf(document);
    const at = cells.indexOf(cell);
    const targets = {
      ArrowRight: () => cells[at + 1],
      ArrowLeft: () => cells[at - 1],
      ArrowDown: () => beside(cell, cells, true),
      ArrowUp: () => beside(cell, cells, false),
      Home: () => cells[0],
      End: () => cells[cells.length - 1],
    };
    if (!targets[event.key]) return;
    event.preventDefault();
    go(cell, targets[event.key]());
  });

  const pointing = (event) => {
    const cell = event.target.closest && event.target.closest('.ranks [role="cell"]');
    if (cell) point(cell);
  };
  document.addEventListener("focusin", pointing);
  document.addEventListener("pointerover", pointing);

  // ---- begin -----------------------------------------------------------------------------------------------------

  const choices = document.getElementById("choices");
  if (choices && matchMedia("(max-width: 48rem)").matches) choices.open = false;
  for (const field of document.querySelectorAll("form select")) {
    field.addEventListener("change", () => field.form.requestSubmit());
  }
  count();
  reach();
  setInterval(() => document.hidden || count(), 1000);
  if (address && window.EventSource) {
    // A tab that is not seen holds no connection: a browser has six for one server.
    document.addEventListener("visibilitychange", () => (document.hidden ? stop() : follow()));
    if (!document.hidden) follow();
  }
})();
