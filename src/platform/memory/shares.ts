/**
 * The division of the memory of the process (the setting `SVC_MEMORY`). Each budget of a cache or of a buffer is a row of this
 * table, so that all of them together stay within the whole.
 */

const MiB = 1024 * 1024

/** Default megabytes of the process; the parts below are megabytes of these. */
export const standardMemory = 512

/** Fixed memory of the process, independent of the setting, in megabytes. */
const fixed = {
  /** The program: Node's own code, most of it shared with other processes, and the memory of libraries. */
  program: 64,
  /** The source, the datamodel and the schemas in V8: measured after a start. */
  code: 48,
}

/** Three semi-spaces of V8's young generation, each a 32nd of the whole: one is filled while two are collected. */
const young = 3 / 32

interface Row {
  readonly part: number
  /** For the documentation. */
  readonly holds: string
}

const row = (part: number, holds: string): Row => ({ part, holds })

const table = {
  // The largest body takes 32 of these, the rest is for other bodies: one caller has two thirds.
  bodies: row(60, 'bodies of requests that are read, with the values made of them'),
  // The largest answer takes 64 of these, the rest is for the small answers of all others.
  answers: row(80, 'answers that wait until their clients take them'),
  // Two large requests at a time, each with the rows of a few pages of 2 MB and the values made of them.
  work: row(30, 'rows and values of the requests that are worked on'),
  // A thousand listeners with a frame or two each; a listener that is behind reads the log itself.
  eventStreams: row(4, 'events that wait until listeners of streams take them'),
  // A table of two million objects and four conditions on it, or ten columns of a million.
  columns: row(38, 'columns of the index, for searches that find much'),
  // As many searches as are repeated often: an entry is smaller than each page of its results.
  columnsAsked: row(1, 'how often columns are asked for'),
  // A million sets of a few members, or half as many texts.
  facetSets: row(28, 'facets: the values of the sets that documents have'),
  // Two hundred results of a large collection with ten facets.
  searchResults: row(12, 'results of searches'),
  // A bit for each set of rights, for thousands of callers.
  accessSets: row(4, 'which sets of rights callers may see'),
  // Lists of ids, each with at most a thousand.
  linkedAnswers: row(1, 'conditions on linked objects'),
  // Sixteen callers with 200 object types and 3,000 pools, or thousands with a few.
  callerRights: row(24, 'rights of callers, and the bits of the objects that collections open for them'),
  // Five thousand objects that are read repeatedly.
  objects: row(15, 'objects that are read often'),
  // Twenty thousand objects as others show them.
  objectHeads: row(8, 'objects as others show them'),
  // Ten thousand pairs of numbers.
  objectIds: row(1, 'ids of objects that are read often'),
  // Texts of statements, some kilobytes for each mask.
  objectStatements: row(2, 'statements that read objects'),
  // Three thousand answers of five kilobytes.
  objectAnswers: row(12, 'answers of objects that are read often'),
  // Three thousand records with all their versions.
  files: row(10, 'records of files'),
  // As many files, in the two formats of objects.
  fileTexts: row(12, 'files as objects show them'),
  // Some thousands of sessions; a session that is used less than every five seconds is read again in any case.
  sessions: row(6, 'sessions'),
  // Six thousand names; further names are read with the page that shows them.
  userNames: row(3, 'names of users'),
  // A thousand groups with names in several languages.
  groupNames: row(1, 'names of groups'),
} as const satisfies Record<string, Row>

export type Share = keyof typeof table

/** Bytes of each budget. */
export type Shares = { readonly [P in Share]: number }

export interface Memory extends Shares {
  /** Total megabytes. */
  readonly megabytes: number
  /** V8's limit for the old generation, in megabytes: the sum of all shares, since most of them are in it. */
  readonly heap: number
  /** Bytes of the largest request body, and of the largest answer with objects. */
  readonly largestBody: number
  readonly largestAnswer: number
}

/** A body of the maximum size leaves room for others, and so does an answer. */
const largest = { body: 32 / table.bodies.part, answer: 64 / table.answers.part }

const shares = Object.entries(table) as [Share, Row][]
const parts = shares.reduce((sum, [, { part }]) => sum + part, 0)

/** With less memory, the largest mails and datamodels (16 MiB) would be refused, and caches would keep entries only briefly. */
export const leastMemory = 320

/** Megabytes that the program needs right after its start. */
export const ownMemory = fixed.program + fixed.code

/** Megabytes for the shares. */
const roomOf = (megabytes: number): number => megabytes * (1 - young) - ownMemory

/** Divides this number of megabytes. */
export function divideMemory(megabytes: number): Memory {
  const room = roomOf(megabytes)
  const bytesOf = (part: number): number => Math.floor((room * MiB * part) / parts)
  const budgets = Object.fromEntries(shares.map(([name, { part }]) => [name, bytesOf(part)])) as unknown as Shares
  return {
    ...budgets,
    megabytes,
    heap: Math.floor(room + fixed.code),
    largestBody: bytesOf(table.bodies.part * largest.body),
    largestAnswer: bytesOf(table.answers.part * largest.answer),
  }
}

/** Total bytes of all shares. */
export function wholeOf({ megabytes, ...memory }: Memory): number {
  const budgets = shares.reduce((sum, [name]) => sum + memory[name], 0)
  return budgets + (ownMemory + megabytes * young) * MiB
}

/** The number of megabytes from which a share has this size. */
export function memoryFor(share: 'largestBody' | 'largestAnswer' | Share, bytes: number): number {
  const atStandard = divideMemory(standardMemory)[share]
  const room = (bytes / atStandard) * roomOf(standardMemory)
  const least = Math.ceil((room + ownMemory) / (1 - young))
  // Shares are rounded down.
  return divideMemory(least)[share] >= bytes ? least : least + 1
}

/** The table of docs/operations.md. */
export function memoryTable(): string {
  const always = (megabytes: number): string => `${megabytes}, always`
  const rows: [string, string | number][] = [
    ['the program, and what libraries take', always(fixed.program)],
    ['the code, the datamodel and the schemas in V8', always(fixed.code)],
    ['objects that V8 has just made', standardMemory * young],
    ...shares.map(([, { part, holds }]): [string, number] => [holds, part]),
  ]
  const lines = rows.map(([holds, megabytes]) => `| ${holds} | ${megabytes} |`)
  return [`| Holds | MB of ${standardMemory} |`, '|---|---|', ...lines].join('\n')
}
