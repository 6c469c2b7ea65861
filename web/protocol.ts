/**
 * What the page and its worker say to each other. Everything here is plain data that `postMessage` can carry.
 *
 * The page asks with a {@linkcode PageRequest} and gets exactly one {@linkcode WorkerReply} with the same `request` number. The
 * worker pushes {@linkcode WorkerNews} whenever something changes. Errors cross as `{code, message}`: classes do not survive
 * `postMessage`, codes do.
 *
 * @module
 */
import type {
  ContextGauge,
  EffectClass,
  EventPage,
  EventPlace,
  LogFault,
  Message,
  Proof,
  SessionEvent,
  SessionRow,
  SpilledCheck,
  StorageTraits,
  StreamChunk,
} from "../mod.ts";

/** An error as it crosses: a code of `src/errors.ts`, or `TypeError`, `RangeError`, `Error` for those that have none. */
export interface WireError {
  readonly code: string;
  readonly message: string;
  /** With `STORAGE_LOST`: the sessions that were known and are gone. With `ALREADY_EXISTS` of an import: who has the id. */
  readonly sessionIds?: readonly string[];
}

/** Which model answers. An API key lives in the worker's memory; the page keeps it in IndexedDB only when asked to. */
export type ModelChoice =
  | { readonly kind: "demo" }
  | { readonly kind: "openai"; readonly baseUrl: string; readonly model: string; readonly apiKey?: string };

/** What the page tells about itself. `freeze` and `pagehide` make an owner flush, close and release. */
export type PageState = "visible" | "hidden" | "freeze" | "resume" | "pagehide";

/** How a visitor makes a crash happen. `before-effect` dies between the barrier and the body of the next effect. */
export type CrashPoint = "now" | "before-effect" | "after-effect";

/** Where an unknown was settled to by a person. */
export type SettleVerdict = "happened" | "absent" | "retry";

/** What a page may ask, by verb, with what it gets back. */
export interface PageCalls {
  /** First of all. Fails with the reason when this browser has no usable medium: nothing falls back to memory unasked. */
  hello: {
    readonly ask: { readonly tabLabel: string; readonly state: PageState; readonly volatile?: boolean };
    readonly answer: { readonly tab: string; readonly traits: StorageTraits; readonly version: string };
  };
  list: { readonly ask: Record<never, never>; readonly answer: readonly SessionRow[] };
  /** Makes a session; nothing is written before its first message. The caller is attached to it. */
  create: { readonly ask: { readonly volatile?: boolean }; readonly answer: SessionView };
  /** Starts watching a session: as its owner when nobody else is, else as a viewer. */
  attach: { readonly ask: { readonly id: string }; readonly answer: SessionView };
  detach: { readonly ask: { readonly id: string }; readonly answer: null };
  /**
   * Sends a message; answers when it is durable in the log. A repeat with the same `inputId` is the same input, also after the owner
   * died in between.
   */
  send: {
    readonly ask: { readonly id: string; readonly inputId: string; readonly text: string };
    readonly answer: { readonly seq: number };
  };
  cancel: { readonly ask: { readonly id: string }; readonly answer: null };
  /**
   * Compacts the conversation, between turns. Answers when it has begun; what it comes to is in the log. `isStarted` is false when
   * there is nothing to compact.
   */
  compact: { readonly ask: { readonly id: string }; readonly answer: { readonly isStarted: boolean } };
  /** Answers a question. The first answer counts: `isFirst` is false for the same answer again; another one is refused. */
  answer: {
    readonly ask: { readonly id: string; readonly question: string; readonly decision: "allowed-once" | "rejected" };
    readonly answer: { readonly isFirst: boolean };
  };
  /** Settles an unknown outcome by hand. The same verdict again is written once; another one after it is refused. */
  settle: {
    readonly ask: {
      readonly id: string;
      readonly callSeq: number;
      readonly verdict: SettleVerdict;
      readonly note?: string;
    };
    readonly answer: null;
  };
  /** A page of the durable log. Works for damaged sessions up to the damage. */
  history: {
    readonly ask: { readonly id: string; readonly from: number; readonly limit: number };
    readonly answer: EventPage;
  };
  /** Where events lie in the log, for those that lie in one of its frames: what a person who reads the file looks for. */
  places: {
    readonly ask: { readonly id: string; readonly seqs: readonly number[] };
    readonly answer: readonly SeqPlace[];
  };
  /** What the model sees now. */
  surface: { readonly ask: { readonly id: string }; readonly answer: readonly Message[] };
  /** The log's bytes as they are on the medium, whole; with long results beside it, a zip archive of both. `spilled` says which are lost. */
  export: {
    readonly ask: { readonly id: string };
    readonly answer: {
      readonly name: string;
      readonly bytes: Uint8Array<ArrayBuffer>;
      readonly spilled: SpilledCheck;
    };
  };
  /**
   * Takes a log file in, byte for byte. An open turn is closed by the conservative rules at its first write-open. A damaged log
   * is kept for reading and `fault` says what is wrong with it; one whose header can not be read is refused. `spilled` says which
   * long results did not come with it.
   */
  import: {
    readonly ask: { readonly name: string; readonly bytes: Uint8Array<ArrayBuffer> };
    readonly answer: { readonly id: string; readonly fault: LogFault | null; readonly spilled: SpilledCheck };
  };
  delete: { readonly ask: { readonly id: string }; readonly answer: null };
  /** Starts over after `STORAGE_LOST`: the sessions that are gone are not missed any more, and the medium is opened anew. */
  forgetLost: { readonly ask: Record<never, never>; readonly answer: { readonly sessionIds: readonly string[] } };
  model: { readonly ask: { readonly choice: ModelChoice }; readonly answer: { readonly name: string } };
  state: { readonly ask: { readonly state: PageState }; readonly answer: null };
  /** What the browser answered to `navigator.storage.persist()`, which only a page can call. */
  persisted: { readonly ask: { readonly isPersisted: boolean }; readonly answer: null };
  /** `now` is never answered. The other two are answered at once, and the next effect ends in a `crash`. */
  crash: { readonly ask: { readonly at: CrashPoint }; readonly answer: null };
  /** What the pretend bank really holds: the truth beside which a class can be read. */
  bank: { readonly ask: Record<never, never>; readonly answer: readonly BankEntry[] };
}

/** A verb of {@linkcode PageCalls}. */
export type PageVerb = keyof PageCalls;

/** One question of the page. */
export type PageRequest = {
  readonly [Verb in PageVerb]: { readonly request: number; readonly verb: Verb; readonly ask: PageCalls[Verb]["ask"] };
}[PageVerb];

/**
 * Posted once, before anything is asked, by a page that a server gave: who it may speak for there. It is no request: it has no
 * answer, and a worker that needs no server does not look at it.
 */
export interface ServerTokenMessage {
  readonly kind: "server-token";
  readonly token: string;
}

/** The answer to one question. */
export type WorkerReply =
  | { readonly kind: "reply"; readonly request: number; readonly answer: unknown }
  | { readonly kind: "refusal"; readonly request: number; readonly error: WireError };

/** A payment at the pretend bank. */
export interface BankEntry {
  readonly effectKey: string;
  readonly to: string;
  readonly amount: string;
  readonly time: number;
}

/** Who writes a session, seen from this tab. */
export type Role =
  /** This tab writes it. */
  | { readonly kind: "owner" }
  /** Another tab writes it; what is sent here is forwarded to it. */
  | { readonly kind: "viewer"; readonly ownerLabel: string }
  /** Another tab holds it and does not answer: the browser froze it. Read-only until it is woken or closed. */
  | { readonly kind: "stuck"; readonly ownerLabel: string; readonly reason: string }
  /** Nobody writes it now; the next input here opens it. */
  | { readonly kind: "released" }
  /** It cannot be written; it is shown as far as it can be read. */
  | { readonly kind: "read-only"; readonly fault: LogFault | WireError };

/** A question that waits for a person. Its `tool/call` is durable: the arguments are those of the log. */
export interface OpenQuestion {
  readonly question: string;
  readonly callId: string | null;
  readonly callSeq: number | null;
  readonly toolName: string;
  /** Never empty: a tool that gives no reason is asked about by its name and arguments. */
  readonly reason: string;
  /** The raw text of the arguments in the durable `tool/call`. */
  readonly argumentsText: string;
  readonly argumentsDigest: string | null;
  /** Where the call writes a file: what it would change. `before` is null for a new file. */
  readonly fileChange: { readonly path: string; readonly before: string | null; readonly after: string } | null;
  /** Set when the call repeats one whose outcome nobody knows: a yes may let it happen a second time. */
  readonly repeats: RepeatedCall | null;
}

/** An earlier call that is equal and not settled. */
export interface RepeatedCall {
  /** seq of its `tool/call`. */
  readonly callSeq: number;
  /** What its target makes of a repetition. "opaque" when any equal call was. */
  readonly effect: EffectClass;
}

/** Where an event lies in its log. */
export interface SeqPlace extends EventPlace {
  readonly seq: number;
}

/** A call whose outcome is not known, for a person to settle. */
export interface OpenUnknown {
  readonly callSeq: number;
  readonly callId: string;
  readonly toolName: string;
  readonly effect: EffectClass;
  /** `null` when the log holds no marker for it: it was written without barriers, or taken in from elsewhere. */
  readonly effectKey: string | null;
  readonly argumentsText: string;
  /** Why nobody knows, in a sentence. */
  readonly reason: string;
  /** The events that follows from, in order. */
  readonly proofs: readonly Proof[];
  /** A person has allowed a retry, and the agent has not made it yet. */
  readonly isRetryAllowed: boolean;
}

/** The durability line. */
export interface Durability {
  readonly pendingEvents: number;
  /** Bytes of the events not durable yet, as JSON. */
  readonly pendingBytes: number;
  /** −1 for an empty log. */
  readonly durableSeq: number;
  /** Of the last BARRIERS_REMEMBERED appends, in milliseconds; null before the first. */
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  readonly persistence: StorageTraits["persistence"];
  readonly sync: StorageTraits["sync"];
}

/** What was found when this tab opened the session for writing. */
export interface RepairNotice {
  /** Events that were appended: what lookups found, and the closers of the open turn. */
  readonly closers: readonly SessionEvent[];
  /** Per call that was open: its class, and the seq of its `tool/call`, `null` when it was never recorded. */
  readonly calls: readonly {
    readonly callId: string;
    readonly callSeq: number | null;
    readonly name: string;
    readonly class: string;
  }[];
}

/** All that a page needs to draw a session, apart from its events. */
export interface SessionView {
  readonly id: string;
  readonly title: string | null;
  readonly role: Role;
  readonly status: "idle" | "running";
  /** One more than the last event this tab knows, pending ones included. */
  readonly nextSeq: number;
  readonly durability: Durability;
  readonly questions: readonly OpenQuestion[];
  readonly unknowns: readonly OpenUnknown[];
  /** `null` until this tab had to repair. */
  readonly repaired: RepairNotice | null;
  readonly modelName: string;
  /** How full the model's window is. */
  readonly context: ContextGauge;
}

/** What the worker tells unasked. */
export type WorkerNews =
  | { readonly kind: "sessions"; readonly rows: readonly SessionRow[] }
  | { readonly kind: "view"; readonly view: SessionView }
  /** Events, in order. Those above `durableSeq` are not durable yet and may be superseded (`reset`) when the owner dies. */
  | {
    readonly kind: "events";
    readonly id: string;
    readonly events: readonly SessionEvent[];
    readonly durableSeq: number;
  }
  /** What is known ends here: forget every event from `from` on. Comes at a takeover, before the events that replace them. */
  | { readonly kind: "reset"; readonly id: string; readonly from: number }
  /** A piece of the model's stream, never durable. */
  | {
    readonly kind: "chunk";
    readonly id: string;
    readonly turn: number;
    readonly step: number;
    readonly chunk: StreamChunk;
  }
  /**
   * What the medium promises about keeping the bytes. The first one comes with the first session that is written, `wasAsked` false:
   * the page then asks the browser to persist, and tells the answer with `persisted`.
   */
  | { readonly kind: "persistence"; readonly persistence: StorageTraits["persistence"]; readonly wasAsked: boolean }
  /** The worker is at the point where it was told to crash, and does nothing more: whoever holds it terminates it now. */
  | { readonly kind: "crash"; readonly at: CrashPoint }
  | { readonly kind: "problem"; readonly id: string | null; readonly error: WireError };

/** Everything a worker sends. */
export type WorkerMessage = WorkerReply | WorkerNews;
