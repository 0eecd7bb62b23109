// Requests to the server: all learning happens there.

export class Refused extends Error {
  constructor(status, answer) {
    super(sentence(answer));
    this.status = status;
    this.rule = answer?.rule ?? null;
  }
}

function sentence(answer) {
  if (typeof answer?.detail === "string") return answer.detail;
  const first = answer?.detail?.[0]?.msg ?? "The server did not take this.";
  return first.replace(/^Value error, /, "");
}

export async function ask(method, path, body) {
  let response;
  try {
    response = await fetch(`/api${path}`, {
      method,
      headers: { "content-type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    throw new Refused(0, { detail: "The server does not answer: is votron play still running?" });
  }
  const answer = response.status === 204 ? null : await response.json().catch(() => null);
  if (!response.ok) throw new Refused(response.status, answer);
  return answer;
}
