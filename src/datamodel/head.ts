import type { Db } from '../platform/db.ts'
import { AppError } from '../platform/errors.ts'
import { extractLocalizedNames } from './l10n.ts'
import { cleanMasks } from './normalize/clean-masks.ts'
import { normalizeMasks, pruneMasks } from './normalize/masks.ts'
import { normalizeSchema } from './normalize/schema.ts'
import type { LocaApi, MaskSchemaApi, SchemaApi } from './schema.ts'
import * as store from './store.ts'
import { validateMasks } from './validate/masks.ts'
import { checkSchemaSize, validateSchema } from './validate/schema.ts'

/** The working copy as its readers see it: numbered after the current version. */
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

/** What a writer believes to overwrite: the `If-Match` header, when there is one. */
export type IfMatch = string | undefined

/**
 * Stores a posted snapshot as the working copy, normalised and valid; its masks lose what the snapshot has no more.
 *
 * @throws {AppError} `VersionMismatch` when it is not made for the next version, or the working copy has changed
 * since the state named by `ifMatch`; the errors of `validateSchema` and `validateMasks`.
 */
export function saveSchemaHead(db: Db, input: SchemaApi, ifMatch: IfMatch): Promise<HeadView> {
  checkSchemaSize(input)
  return db.transaction(async (tx) => {
    const stored = await store.lockHead(tx)
    const current = await store.currentVersion(tx)
    const head = headView(stored, current)
    requireMatch(ifMatch, head.tags.schema)
    requireVersion('version', input.version, head.schema.version)
    if (input.based_on_version !== undefined) requireVersion('based_on_version', input.based_on_version, current)

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

/** Stores posted masks as the masks of the working copy. They must fit its snapshot, so that goes first. */
export function saveMasksHead(db: Db, input: MaskSchemaApi, ifMatch: IfMatch): Promise<HeadView> {
  const checked = cleanMasks(input)
  return db.transaction(async (tx) => {
    const stored = await store.lockHead(tx)
    const current = await store.currentVersion(tx)
    const head = headView(stored, current)
    requireMatch(ifMatch, head.tags.masks)
    if (input.version !== undefined) requireVersion('version', input.version, head.schema.version)
    const masks = normalizeMasks(checked, { head: head.masks, schema: head.schema, version: head.schema.version })
    validateMasks(masks, head.schema)
    await store.writeHead(tx, { masks })
    return headView(await store.lockHead(tx), current)
  })
}

/** Adds localised names to the working copy: a posted key replaces its texts, an empty one is removed, others stay. */
export function saveL10nHead(db: Db, input: LocaApi, ifMatch: IfMatch): Promise<HeadView> {
  return db.transaction(async (tx) => {
    const stored = await store.lockHead(tx)
    const current = await store.currentVersion(tx)
    requireMatch(ifMatch, headView(stored, current).tags.l10n)
    const entries = Object.entries({ ...stored.l10n, ...input }).filter(([, texts]) => Object.keys(texts).length > 0)
    await store.writeHead(tx, { l10n: Object.fromEntries(entries) })
    return headView(await store.lockHead(tx), current)
  })
}

function changed<T>(next: T, before: T): T | undefined {
  return JSON.stringify(next) === JSON.stringify(before) ? undefined : next
}

function requireVersion(param: string, got: number, expected: number): void {
  if (got === expected) return
  throw new AppError(
    'VersionMismatch',
    { param, got, expected },
    { message: `${param} is ${got}, the working copy has ${expected}; read it again` },
  )
}

function requireMatch(got: IfMatch, expected: string): void {
  if (got === undefined || got === '*' || got.replace(/^W\//, '') === expected) return
  throw new AppError(
    'VersionMismatch',
    { param: 'If-Match', got, expected },
    { message: 'The working copy has been saved by somebody else since you read it; read it again.' },
  )
}
