import { expectedVersion, type VersionConvention } from '../platform/config/versions.ts'
import { AppError } from '../platform/errors.ts'
import type { Db } from '../platform/postgres/db.ts'
import { extractLocalizedNames } from './l10n.ts'
import { cleanMasks } from './normalize/clean-masks.ts'
import { normalizeMasks, pruneMasks } from './normalize/masks.ts'
import { normalizeSchema } from './normalize/schema.ts'
import type { LocaApi, MaskSchemaApi, SchemaApi } from './schema.ts'
import * as store from './store.ts'
import { validateMasks } from './validate/masks.ts'
import { checkSchemaSize, validateSchema } from './validate/schema.ts'

/** The working copy as clients read it: its number is the one after the current version. */
export interface HeadView {
  readonly schema: SchemaApi
  readonly masks: MaskSchemaApi
  readonly l10n: LocaApi
  /** Entity tags of the parts; they change with each save of the part and with each commit. */
  readonly tags: { readonly schema: string; readonly masks: string; readonly l10n: string }
}

export function headView(head: store.StoredHead, current: number): HeadView {
  const version = current + 1
  return {
    schema: { ...head.schema, version, based_on_version: current, committed_at: null },
    masks: { ...head.masks, version, based_on_schema_version: version },
    l10n: head.l10n,
    tags: {
      schema: `"${version}.${head.schemaRevision}"`,
      masks: `"${version}.${head.masksRevision}"`,
      l10n: `"${version}.${head.l10nRevision}"`,
    },
  }
}

/** The state that a writer intends to overwrite. */
export interface Belief {
  /** The `If-Match` header, when there is one. */
  readonly ifMatch: string | undefined
  /** Whether the document comes from another instance: then its versions have no meaning here. */
  readonly overwrite: boolean
  readonly convention: VersionConvention
}

/**
 * Stores a posted snapshot as the working copy, normalised and valid; its masks lose parts that the snapshot no longer has.
 *
 * @throws {AppError} `VersionMismatch` when it does not have the version of the working copy (by the client's convention), or the
 * working copy has changed since the state in `ifMatch`; the errors of `validateSchema` and `validateMasks`.
 */
export function saveSchemaHead(db: Db, input: SchemaApi, belief: Belief): Promise<HeadView> {
  checkSchemaSize(input)
  return db.transaction(async (tx) => {
    const stored = await store.lockHead(tx)
    const current = await store.currentVersion(tx)
    const head = headView(stored, current)
    requireMatch(belief, head.tags.schema)
    requireVersion(belief, input.version, head.schema.version)
    if (input.based_on_version !== undefined) requireBase(belief, input.based_on_version, current)

    const normal = normalizeSchema(input, { head: head.schema, version: head.schema.version, basedOnVersion: current })
    validateSchema(normal)
    const { schema, l10n } = extractLocalizedNames(normal, head.schema, head.l10n)
    const pruned = pruneMasks(head.masks, schema)
    const masks = normalizeMasks(pruned, { head: head.masks, schema, version: head.schema.version })
    validateMasks(masks, schema)
    const change = { schema, masks: changed(masks, head.masks), l10n: changed(l10n, head.l10n) }
    await store.writeHead(tx, change)
    return headView(await store.lockHead(tx), current)
  })
}

/** Stores posted masks as the masks of the working copy. They must fit its snapshot, so the snapshot must be saved first. */
export function saveMasksHead(db: Db, input: MaskSchemaApi, belief: Belief): Promise<HeadView> {
  const checked = cleanMasks(input)
  return db.transaction(async (tx) => {
    const stored = await store.lockHead(tx)
    const current = await store.currentVersion(tx)
    const head = headView(stored, current)
    requireMatch(belief, head.tags.masks)
    if (input.version !== undefined) requireVersion(belief, input.version, head.schema.version)
    const masks = normalizeMasks(checked, { head: head.masks, schema: head.schema, version: head.schema.version })
    validateMasks(masks, head.schema)
    await store.writeHead(tx, { masks })
    return headView(await store.lockHead(tx), current)
  })
}

/** Adds localised names to the working copy: a posted key replaces its texts, an empty one is removed, others stay. */
export function saveL10nHead(db: Db, input: LocaApi, belief: Pick<Belief, 'ifMatch'>): Promise<HeadView> {
  return db.transaction(async (tx) => {
    const stored = await store.lockHead(tx)
    const current = await store.currentVersion(tx)
    requireMatch(belief, headView(stored, current).tags.l10n)
    const entries = Object.entries({ ...stored.l10n, ...input }).filter(([, texts]) => Object.keys(texts).length > 0)
    await store.writeHead(tx, { l10n: Object.fromEntries(entries) })
    return headView(await store.lockHead(tx), current)
  })
}

function changed<T>(next: T, before: T): T | undefined {
  return JSON.stringify(next) === JSON.stringify(before) ? undefined : next
}

const elsewhere = 'overwrite=1 takes one from elsewhere, whatever its version'

function requireVersion({ overwrite, convention }: Belief, got: number, stored: number): void {
  const expected = expectedVersion(stored, convention)
  if (overwrite || got === expected) return
  const rule = convention === 'next' ? `the version of the working copy plus one is ${expected}` : `it is ${expected}`
  throw new AppError(
    'VersionMismatch',
    { param: 'version', got, expected },
    { message: `version is ${got}, ${rule}; read the working copy again, or send what you have read: ${elsewhere}` },
  )
}

function requireBase({ overwrite }: Belief, got: number, expected: number): void {
  if (overwrite || got === expected) return
  throw new AppError(
    'VersionMismatch',
    { param: 'based_on_version', got, expected },
    { message: `based_on_version is ${got}, the committed version is ${expected}; ${elsewhere}` },
  )
}

function requireMatch({ ifMatch: got }: Pick<Belief, 'ifMatch'>, expected: string): void {
  if (got === undefined || got === '*' || got.replace(/^W\//, '') === expected) return
  throw new AppError(
    'VersionMismatch',
    { param: 'If-Match', got, expected },
    { message: 'The working copy has been saved by somebody else since you read it; read it again.' },
  )
}
