// What the pages do beyond being read: the result of the check on this machine, tables that sort, and a search for numbers.
"use strict";
(() => {
  const here = document.currentScript.src.replace(/_static\/site\.js.*$/, "");
  const SIGNS = { equal: "=", within: "≈", differs: "−", "not run": "∅" };

  const add = (parent, tag, text, attributes = {}) => {
    const made = document.createElement(tag);
    if (text !== null && text !== undefined) made.textContent = text;
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    parent.append(made);
    return made;
  };

  // Six digits of a number; other texts as they are.
  const short = (text) => (text === "" || isNaN(text) ? text : String(Number(Number(text).toPrecision(6))));

  const load = (name, then) => {
    const script = document.createElement("script");
    script.src = here + name;
    script.addEventListener("load", then);
    document.head.append(script);
  };

  const checked = () => {
    const found = window.dpbayesChecked;
    const place = document.getElementById("checked");
    if (!place || !found || !found.sentence) return;
    place.replaceChildren();
    const line = add(place, "p", "");
    add(line, "strong", found.sentence);
    const rows = document.getElementById("checked-rows");
    if (!rows) {
      line.append(" ");
      add(line, "a", "Which.", { href: here + "checked.html" });
      return;
    }
    const heads = ["verdict", "measure", "committed", "here", "method", "dataset", "why"];
    const table = add(rows, "table", null, { class: "data sample" });
    const head = add(add(table, "thead"), "tr");
    for (const name of heads) add(head, "th", name === "dataset" ? "data set" : name, { scope: "col", class: "of-" + name });
    const body = add(table, "tbody");
    for (const row of found.rows || []) {
      const line = add(body, "tr");
      const agree = row.verdict === "equal" || row.verdict === "within";
      for (const name of heads) {
        const value = row[name] ?? "";
        const cell = add(line, name === "method" ? "th" : "td", null, name === "method" ? { scope: "row", class: "of-method" } : { class: "of-" + name });
        if (name === "verdict") {
          const word = add(cell, "span", null, { class: "verdict c-" + String(value).replace(" ", "_") });
          add(word, "b", SIGNS[value] || "·", { "aria-hidden": "true" });
          word.append(" " + value);
        } else if (name === "committed" || name === "here") {
          cell.textContent = agree ? short(value) : value;
          cell.title = value;
        } else if (name === "measure") {
          cell.textContent = value.replaceAll("_", " ");
          if (row.of > 1) add(cell, "span", `of ${row.of}`, { class: "aside-inline" });
        } else cell.textContent = value;
        if (name === "method") cell.title = row.cell;
        if (name === "dataset" && row.paper) add(cell, "span", row.paper, { class: "aside-inline" });
      }
    }
  };

  // A link into a closed part opens it.
  const open = () => {
    const id = decodeURIComponent(location.hash.slice(1));
    const target = id && document.getElementById(id);
    if (!target) return;
    for (let e = target; e; e = e.parentElement) if (e.tagName === "DETAILS") e.open = true;
    target.scrollIntoView();
  };

  const tables = () => {
    const found = document.querySelectorAll("table.sortable");
    if (!found.length) return;
    load("_static/datatables.js", () => {
      for (const table of found) {
        const paged = table.rows.length > 60;
        const options = {
          paging: paged, pageLength: 50, info: paged, order: [], autoWidth: false,
          layout: { topStart: "search", topEnd: null, bottomStart: paged ? "info" : null, bottomEnd: paged ? "paging" : null },
          language: { search: "Filter" },
        };
        const made = new window.dpbayesTables.default(table, options);
        const show = () => {
          const id = decodeURIComponent(location.hash.slice(1));
          const index = id ? made.rows().ids().toArray().indexOf(id) : -1;
          if (index < 0) return;
          if (paged) made.page(Math.floor(index / 50)).draw("page");
          const row = document.getElementById(id);
          if (row) { row.classList.add("found"); row.scrollIntoView({ block: "center" }); }
        };
        window.addEventListener("hashchange", show);
        show();
      }
    });
  };

  // The built-in search leaves numbers out: on its page, cells whose key or numbers have the words stand above.
  const search = () => {
    const place = document.getElementById("search-results");
    const words = (new URLSearchParams(location.search).get("q") || "").toLowerCase().split(/\s+/).filter(Boolean);
    if (!place || !words.length) return;
    load("_static/cells-index.js", () => {
      const hits = [];
      let all = 0;
      for (const [page, key, label, numbers] of window.dpbayesCells) {
        const text = (key + " " + label + " " + numbers).toLowerCase();
        if (!words.every((w) => text.includes(w))) continue;
        all += 1;
        if (hits.length < 40) hits.push([page, key, label, numbers]);
      }
      if (!all) return;
      const box = document.createElement("section");
      box.className = "found-cells";
      box.setAttribute("aria-label", "Published cells");
      add(box, "h2", all > hits.length ? `${all} published cells, the first ${hits.length}` : `${all} published cells`);
      const list = add(box, "ul");
      for (const [page, key, label, numbers] of hits) {
        const item = add(list, "li");
        add(item, "a", label, { href: `${here}${page}.html#${encodeURIComponent(key)}` });
        add(item, "span", " " + numbers, { class: "aside-inline" });
      }
      place.before(box);
      // Sphinx says that nothing matches where numbers do and pages do not.
      const summary = () => {
        const line = place.querySelector(".search-summary");
        if (line && line.textContent.includes("did not match")) line.textContent = "Besides these cells, no page has all of these words.";
      };
      new MutationObserver(summary).observe(place, { childList: true, subtree: true, characterData: true });
      summary();
    });
  };

  const start = () => { checked(); open(); tables(); search(); window.addEventListener("hashchange", open); };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
