// The slider over a run: which run, which moment.

import { ask } from "./api.js";
import { byId, calm, element, latestOnly } from "./dom.js";
import { RunView } from "./runview.js";

export class RunPage {
  constructor() {
    this.kept = new Map();
    this.go = latestOnly((index) => this.showMoment(index));
    byId("run-choice").addEventListener("change", () => this.open(byId("run-choice").value));
    byId("run-slider").addEventListener("input", () => this.go(Number(byId("run-slider").value)));
    byId("run-play").addEventListener("click", () => this.play());
    for (const radio of document.querySelectorAll("input[name=run-rule]")) {
      radio.addEventListener("change", () => {
        this.kept.clear();
        this.go(Number(byId("run-slider").value));
      });
    }
  }

  async start() {
    if (this.view) return;
    const runs = await ask("GET", "/runs");
    if (!byId("run-choice").options.length) {
      byId("run-choice").append(...runs.filter((run) => !run.problem).map(({ id, title }) => element("option", { value: id }, title)));
      const own = runs.find(({ id }) => id === "model");
      if (own) byId("run-choice").value = own.id;
    }
    await this.open(byId("run-choice").value);
  }

  async open(id) {
    if (this.view?.run.id === id) return;
    this.stop();
    const run = (await ask("GET", "/runs")).find((each) => each.id === id);
    if (!run?.ready) {
      this.wait(run);
      setTimeout(() => byId("run-choice").value === id && this.open(id), 300);
      return;
    }
    byId("run-status").textContent = "Measuring the errors of all rules at every moment…";
    byId("run-status").hidden = false;
    const overview = await ask("GET", `/runs/${id}`);
    byId("run-status").hidden = true;
    byId("run-stage").hidden = byId("run-timeline").hidden = false;
    this.kept.clear();
    this.view = new RunView(overview);
    byId("run-rules").hidden = overview.kind !== "plane";
    await this.showMoment(Math.floor((overview.times.length - 1) / 3));
  }

  wait(run) {
    byId("run-status").hidden = false;
    byId("run-status").textContent = `Training: ${run ? run.title : ""}…`;
  }

  async showMoment(index) {
    const rule = document.querySelector("input[name=run-rule]:checked").value;
    const key = `${this.view.run.id} ${index} ${rule}`;
    if (!this.kept.has(key)) this.kept.set(key, await ask("GET", `/runs/${this.view.run.id}/moments/${index}?rule=${rule}`));
    byId("run-slider").value = index;
    this.view.show(this.kept.get(key));
  }

  stop() {
    clearTimeout(this.timer);
    this.playing = false;
    byId("run-play").textContent = "Play";
    byId("run-play").setAttribute("aria-pressed", "false");
  }

  play() {
    if (this.playing) return this.stop();
    const slider = byId("run-slider");
    if (Number(slider.value) >= Number(slider.max)) slider.value = 0;
    this.playing = true;
    byId("run-play").textContent = "Pause";
    byId("run-play").setAttribute("aria-pressed", "true");
    const next = async () => {
      if (!this.playing) return;
      const index = Number(slider.value) + 1;
      if (index > Number(slider.max)) return this.stop();
      await this.showMoment(index);
      this.timer = setTimeout(next, calm() ? 600 : 110);
    };
    return next();
  }
}
