import { Type } from 'typebox'
import { createChecker } from '../../platform/values/checker.ts'
import type { SequenceState, TableContent } from './tables.ts'

/**
 * A backup is one file: a tar archive compressed with zstd. Its entries, in this order:
 *
 *   manifest.json              format and release, with the tables and sequences of the backup
 *   tables/<schema>.<name>/<n> the rows of a table in PostgreSQL's text format of COPY, cut into pieces anywhere
 *   contents/<location>/<sha256>/<n>
 *                              contents of files, by location and hash, each in pieces of `contentPiece` bytes
 *   end.json                   sums of each table and location; a backup without it is incomplete
 */
export const manifestEntry = 'manifest.json'
export const endEntry = 'end.json'
export const format = 2

/** Maximum bytes of a content in one entry; they are not held in memory. */
export const contentPiece = 64 * 1024 * 1024

export interface Manifest {
  readonly format: number
  /** Locations whose file contents are included, by id; format 1 had none. */
  readonly contents?: readonly number[]
  /** Release that made the backup. */
  readonly release: string
  /** The time of the snapshot; ISO 8601, UTC. */
  readonly taken: string
  /** Migrations of the database, by name; and those of the job queue, by number. */
  readonly migrations: readonly string[]
  readonly queueMigrations: readonly number[]
  readonly databaseName: string
  readonly tables: readonly TableContent[]
  readonly sequences: readonly SequenceState[]
}

/** The expected data of a table. */
export interface TableSum {
  readonly rows: number
  readonly sha256: string
}

export type End = Readonly<Record<string, TableSum>>

const Name = Type.String({ minLength: 1, maxLength: 63 })
const ManifestShape = Type.Object({
  format: Type.Union([Type.Literal(1), Type.Literal(format)]),
  contents: Type.Optional(Type.Array(Type.Integer({ minimum: 1 }), { uniqueItems: true })),
  release: Type.String(),
  taken: Type.String(),
  migrations: Type.Array(Name),
  queueMigrations: Type.Array(Type.Integer()),
  databaseName: Type.String(),
  tables: Type.Array(Type.Object({ schema: Name, name: Name, columns: Type.Array(Name, { minItems: 1 }) })),
  sequences: Type.Array(
    Type.Object({
      schema: Name,
      name: Name,
      type: Type.Union([Type.Literal('smallint'), Type.Literal('integer'), Type.Literal('bigint')]),
      value: Type.String({ pattern: '^-?\\d{1,19}$' }),
      called: Type.Boolean(),
    }),
  ),
})
/** The members that every format has. */
const OtherFormat = Type.Object({ format: Type.Integer(), release: Type.String({ maxLength: 100 }) })
const EndShape = Type.Record(
  Type.String(),
  Type.Object({ rows: Type.Integer({ minimum: 0 }), sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }) }),
)

const manifestShape = createChecker(ManifestShape)
const otherFormat = createChecker(OtherFormat)
const endShape = createChecker(EndShape)

/** @throws {Error} in one line when the file is no backup of this format. */
export function parseManifest(text: string): Manifest {
  const value = parseJson(text)
  if (otherFormat.check(value) && value.format > format) {
    throw new Error(`the backup was made by a newer release (${value.release}): restore it with that one`)
  }
  if (!manifestShape.check(value)) throw new Error('the file is no backup that this release can read')
  const { tables, sequences } = value
  if ((value.contents === undefined) !== (value.format === 1))
    throw new Error('the file is no backup that this release can read')
  const names = [...tables, ...sequences].map(({ schema, name }) => `${schema}.${name}`)
  if (new Set(names).size < names.length || tables.some(({ columns }) => new Set(columns).size < columns.length)) {
    throw new Error('the backup names something twice')
  }
  return value
}

export function parseEnd(text: string): End {
  const value = parseJson(text)
  if (!endShape.check(value)) throw new Error('the end of the backup cannot be read')
  return value
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

export const tableFolder = ({ schema, name }: { schema: string; name: string }): string => `tables/${schema}.${name}/`

/** The key of a location's contents in `end.json`. */
export const locationKey = (location: number): string => `contents/${location}`

/** Names of a content's entries without their numbers. */
export const contentFolder = (location: number, sha256: string): string => `${locationKey(location)}/${sha256}/`

export const pieceName = (number: number): string => String(number).padStart(4, '0')

/** The sizes in bytes of the entries of a content. An empty content has an entry, too. */
export function pieceSizes(size: number): number[] {
  const whole = Math.max(0, Math.ceil(size / contentPiece) - 1)
  return [...Array<number>(whole).fill(contentPiece), size - whole * contentPiece]
}
