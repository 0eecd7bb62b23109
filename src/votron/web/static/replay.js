// The page without a server: recorded games and one run, to be gone through.

import { byId, calm, element, plural } from "./dom.js";
import { paintField } from "./field.js";
import { Plane } from "./plane.js";
import { drawProof } from "./proof.js";
import { RunView } from "./runview.js";
import { drawScore, roundWords } from "./score.js";

class Player {
  constructor(slider, button, show, pause) {
    this.slider = byId(slider);
    this.button = byId(button);
    this.show = show;
    this.pause = calm() ? 900 : pause;
    this.slider.addEventListener("input", () => show(Number(this.slider.value)));
    this.button.addEventListener("click", () => (this.timer ? this.stop() : this.play()));
  }

  open(last, first) {
    this.stop();
    this.slider.max = last;
    this.go(first);
  }

  go(index) {
    this.slider.value = index;
    this.show(index);
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
    this.button.textContent = "Play";
    this.button.setAttribute("aria-pressed", "false");
  }

  play() {
    if (this.slider.value === this.slider.max) this.go(0);
    this.button.textContent = "Pause";
    this.button.setAttribute("aria-pressed", "true");
    this.timer = setInterval(() => {
      const next = Number(this.slider.value) + 1;
      if (next > Number(this.slider.max)) this.stop();
      else this.go(next);
    }, this.pause);
  }
}

class Recorded {
  constructor(games) {
    this.games = games;
    this.plane = new Plane(byId("board"));
    this.player = new Player("game-slider", "game-play", (n) => this.show(n), 700);
    byId("game-choice").append(...games.map(({ title }, i) => element("option", { value: i }, title)));
    byId("game-choice").addEventListener("change", () => this.open());
    this.open();
  }

  open() {
    this.game = this.games[Number(byId("game-choice").value)];
    this.player.open(this.game.rounds.length, 0);
  }

  show(n) {
    const { setup, rounds, standings, fields } = this.game;
    const [played, standing] = [rounds.slice(0, n), standings[n]];
    const turn = (setup.angle * Math.PI) / 180;
    const found = standing.separation;
    const u = setup.mode === "free" ? found?.u ?? null : [Math.cos(turn), Math.sin(turn)];
    this.plane.drawRules({ u, margin: found?.margin ?? setup.margin, radius: setup.radius, found: setup.mode === "free" });
    this.plane.drawExamples(played);
    this.plane.drawGuess(played);
    this.plane.drawBoundary(fields[n]);
    paintField(byId("board-field"), fields[n]);
    drawProof(byId("proof"), standing);
    drawScore(standing);
    byId("message").textContent = n ? roundWords(played.at(-1)) : `${plural(rounds.length, "round")} to go through.`;
    byId("message").classList.toggle("mistake", Boolean(played.at(-1)?.mistake));
  }
}

const lecture = JSON.parse(byId("lecture").textContent);
new Recorded(lecture.games);
const runView = new RunView(lecture.run);
const runPlayer = new Player("run-slider", "run-play", (i) => runView.show(lecture.moments[i]), 140);
runPlayer.open(lecture.moments.length - 1, Math.floor(lecture.moments.length / 3));
document.documentElement.dataset.ready = "yes";
