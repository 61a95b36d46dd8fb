import type { Mask, Model, ReverseField, Table } from '../../../datamodel/model.ts'
import { AppError } from '../../../platform/errors.ts'
import type { Yielder } from '../../../platform/process/cooperative-yield.ts'
import { type LinkRef, parseGlobalId, parseLink, parseLookup } from '../../content/link-ref.ts'
import { invalidValue, isRecord, isUuid, printable } from '../../content/values.ts'
import { type Holder, writerOf } from '../../masks/writer.ts'
import type { Content } from '../../stored/content.ts'
import type { Edits } from '../edits/model.ts'
import { parseEdits } from '../edits/parse.ts'
import { groupOf } from './group-edit.ts'
import {
  creatorOf,
  isPresent,
  type NamedRef,
  type OwnerRef,
  ownerOf,
  parentsOf,
  poolOf,
  positive,
  tagsOf,
} from './refs.ts'
import { assertListsKnown, assertWrapped, assertWritten, type RowParts, readRow } from './reverse-row.ts'

/** The parts of a payload from which a draft was read; a flat row is its own block. */
export interface Sent {
  readonly wire: Readonly<Record<string, unknown>>
  readonly block: Readonly<Record<string, unknown>>
  /** Place of the block. */
  readonly at: string
  /** Place of the object around it; objects that are edited together share it. */
  readonly place: string
}

/** One object of a save as written by the client: checked in shape, nothing resolved yet. */
export interface Draft {
  readonly sent: Sent
  /** Only fields that are sent change (PATCH, group editing): all others stay. */
  readonly partial: boolean
  /** Place of the object in the request body, for errors: `0.artwork._reverse_nested:loan:artwork.1`. */
  readonly place: string
  readonly mask: Mask
  readonly table: Table
  readonly id: number | undefined
  readonly systemObjectId: number | undefined
  readonly uuid: string | undefined
  readonly lookup: LinkRef | undefined
  readonly version: number | undefined
  /** The draft identifies an existing object, and is written whatever its version is. */
  readonly anyVersion: boolean
  /** `undefined`: not sent. */
  readonly comment: string | undefined
  readonly tags: readonly NamedRef[] | undefined
  readonly pool: NamedRef | null | undefined
  readonly owner: OwnerRef | undefined
  /** The creator of the object according to the payload: used for a new object. */
  readonly creator: OwnerRef | undefined
  readonly acl: unknown
  /** `undefined`: not sent. */
  readonly privateAcl: boolean | undefined
  readonly parents: readonly LinkRef[] | undefined
  /** Values of the writable fields of the mask that the payload has; links are filled in when resolved. */
  readonly written: Content
  readonly links: readonly Holder[]
  /** Links that edits only look for; no object gets them. */
  readonly sought: readonly Holder[]
  /** Changes that are applied after the values, based on the stored values at that time. */
  readonly edits: Edits | null
  /** How the values are merged with the stored ones: by the mask of the draft, unless a callback has replaced them. */
  readonly over: { readonly mask: Mask; readonly partial: boolean }
  /** The uuid by which callbacks know a new object that does not have one yet. */
  readonly shownAs?: string | undefined
  /** Reverse-nested objects by field: only fields that the payload has. */
  readonly reverse: ReadonlyMap<ReverseField, readonly Draft[]>
  /**
   * The client did not send it: it represents a stored object that callbacks may change, and error messages reveal none of its
   * values.
   */
  readonly unsent?: boolean
  /** The object above this reverse-nested one. */
  readonly up: { readonly draft: Draft; readonly field: ReverseField } | null
  /** The link to that object, when the payload repeats it: it must name that one. */
  readonly back: LinkRef | undefined
}

/** Maximum number of objects in one request. */
export const maxBatch = 10_000

const maxReverseDepth = 20

/** True: an importer wants to update whatever version is stored, and sends none. */
const anyVersionKey = '_version:auto_increment'

export interface PayloadContext {
  readonly model: Model
  /** Part of every `_global_object_id`. */
  readonly databaseName: string
  /** PATCH: only fields that are sent change. */
  readonly partial: boolean
}

/**
 * Checks the shape of a save's body and turns it into drafts, reverse-nested objects included (inside their parent's `reverse`).
 * Unlisted properties and fields that are not writable in the mask are ignored (OBJ-019).
 * @throws {AppError} naming the place of the mistake.
 */
export async function parsePayload(
  context: PayloadContext,
  objecttype: Table,
  body: readonly unknown[],
  yielder: Yielder,
): Promise<Draft[]> {
  const drafts: Draft[] = []
  for (const [index, value] of body.entries()) {
    if (yielder.due()) await yielder.yield()
    const place = String(index)
    if (!isRecord(value)) throw invalidValue(place, value, 'an object')
    if (value._objecttype !== objecttype.name)
      throw invalidValue(`${place}._objecttype`, value._objecttype, objecttype.name)
    const mask = maskOf(objecttype, value._mask, `${place}._mask`)
    assertWrapped(objecttype, value, place)
    const block = value[objecttype.name] ?? {}
    const at = `${place}.${objecttype.name}`
    if (!isRecord(block)) throw invalidValue(at, block, 'an object')
    const parts = { wire: value, block, at, place }
    if (!Array.isArray(block._id)) {
      drafts.push(parseDraft(context, objecttype, mask, parts, place, null, 0))
      continue
    }
    for (const one of groupOf(block._id, parts, maxBatch - drafts.length)) {
      if (yielder.due()) await yielder.yield()
      drafts.push(parseDraft({ ...context, partial: true }, objecttype, mask, one, one.name, null, 0))
    }
  }
  return drafts
}

/** A separate object, with nothing above or below it. */
export function parseObject(context: PayloadContext, table: Table, mask: Mask, parts: RowParts, place: string): Draft {
  return parseDraft(context, table, mask, parts, place, null, 0)
}

export function maskOf(table: Table, name: unknown, place: string): Mask {
  const mask = typeof name === 'string' ? table.masks.get(name) : undefined
  if (mask) return mask
  // If the client forgot the key, the error names the key, and does not say that `undefined` is no mask.
  const message =
    name === undefined || name === null
      ? `${place}: _mask is missing, the name of a mask of ${table.name}, such as _all_fields`
      : `${place}: ${table.name} has no mask ${printable(name)}`
  throw new AppError(
    'MaskNotFound',
    { name: place, mask: printable(name ?? null), objecttype: table.name },
    { message },
  )
}

function parseDraft(
  context: PayloadContext,
  table: Table,
  mask: Mask,
  { wire, block, at, place: whole }: RowParts,
  place: string,
  up: Draft['up'],
  depth: number,
): Draft {
  if (depth > maxReverseDepth) throw invalidValue(place, '…', `reverse-nested objects at most ${maxReverseDepth} deep`)
  assertListsKnown(table, block, at)
  const anyVersion = flagOf(block[anyVersionKey], `${at}.${anyVersionKey}`) ?? false
  const version = positive(block._version, `${at}._version`)
  const links: Holder[] = []
  const written = writerOf(mask).read(block, { place: at, links })
  const systemObjectId = systemIdOf(wire, place, context.databaseName)
  const reverse = new Map<ReverseField, Draft[]>()
  const sought: Holder[] = []
  const edits = editsOf(context, mask, { wire, place: whole ?? place, up }, { added: links, sought })
  const draft: Draft = {
    sent: { wire, block, at, place: whole ?? place },
    partial: context.partial,
    place,
    mask,
    table,
    id: positive(block._id, `${at}._id`),
    systemObjectId,
    uuid: uuidOf(wire._uuid, `${place}._uuid`),
    lookup: isPresent(block['lookup:_id']) ? parseLookup(table, block['lookup:_id'], `${at}.lookup:_id`) : undefined,
    version: anyVersion ? undefined : version,
    anyVersion,
    comment: commentOf(wire._comment, `${place}._comment`),
    tags: writable(mask, 'tags') ? tagsOf(wire._tags, `${place}._tags`) : undefined,
    pool: writable(mask, 'pool') ? poolOf(wire, block, place, at) : undefined,
    owner: writable(mask, 'owner') ? ownerOf(wire._owner, `${place}._owner`) : undefined,
    creator: writable(mask, 'owner') ? creatorOf(wire._create_user, `${place}._create_user`) : undefined,
    acl: writable(mask, 'acl') ? wire._acl : undefined,
    privateAcl: writable(mask, 'acl') ? flagOf(wire._private_acl, `${place}._private_acl`) : undefined,
    parents: writable(mask, 'parent') ? parentsOf(table, block, at) : undefined,
    written,
    links,
    sought,
    edits,
    over: { mask, partial: context.partial },
    reverse,
    up,
    back: up ? backOf(up, block, at) : undefined,
  }
  for (const field of mask.fields) {
    if (field.kind !== 'reverse' || field.mode !== 'edit' || !isPresent(block[field.wireKey])) continue
    reverse.set(field, parseReverse(context, field, block[field.wireKey], `${at}.${field.wireKey}`, draft, depth))
  }
  return draft
}

function parseReverse(
  context: PayloadContext,
  field: ReverseField,
  value: unknown,
  place: string,
  draft: Draft,
  depth: number,
): Draft[] {
  if (!Array.isArray(value)) throw invalidValue(place, value, 'a list of objects')
  return value.map((entry, index) => {
    const at = `${place}.${index}`
    if (!isRecord(entry)) throw invalidValue(at, entry, 'an object')
    if (entry._objecttype !== undefined && entry._objecttype !== field.table.name) {
      throw invalidValue(`${at}._objecttype`, entry._objecttype, field.table.name)
    }
    const parts = readRow(field, entry, at)
    const row = parseDraft(context, field.table, field.mask, parts, at, { draft, field }, depth + 1)
    assertWritten(field, row, parts)
    return row
  })
}

/** The position of a reverse-nested row determines its link; a payload may repeat it, but not contradict it. */
function backOf(up: NonNullable<Draft['up']>, block: Record<string, unknown>, at: string): LinkRef | undefined {
  const { column } = up.field
  if (!column?.target || !isPresent(block[column.name])) return undefined
  return parseLink(column.target, block[column.name], `${at}.${column.name}`)
}

/** Edits depend on stored values, so a draft with edits is a partial change. */
function editsOf(
  { partial }: PayloadContext,
  mask: Mask,
  { wire, place, up }: { readonly wire: Record<string, unknown>; readonly place: string; readonly up: Draft['up'] },
  links: Parameters<typeof parseEdits>[3],
): Edits | null {
  if (isPresent(wire._operations) && (!partial || up)) {
    const expected = 'absent: PATCH has it, and a payload whose _id is a list'
    throw invalidValue(`${place}._operations`, wire._operations, expected)
  }
  return parseEdits(mask, wire, place, links)
}

/** System fields are written unless the mask switches them off or shows them only. */
function writable(mask: Mask, field: 'tags' | 'pool' | 'owner' | 'acl' | 'parent'): boolean {
  return mask.system[field].edit === 'edit'
}

/** Null means false: the field is cleared. */
function flagOf(value: unknown, place: string): boolean | undefined {
  if (value === undefined || typeof value === 'boolean') return value
  if (value === null) return false
  throw invalidValue(place, value, 'true or false')
}

function systemIdOf(wire: Record<string, unknown>, place: string, databaseName: string): number | undefined {
  const id = positive(wire._system_object_id, `${place}._system_object_id`)
  if (!isPresent(wire._global_object_id)) return id
  const at = `${place}._global_object_id`
  const global = parseGlobalId(wire._global_object_id, at)
  if (global.database !== databaseName || (id !== undefined && id !== global.id)) {
    throw invalidValue(at, wire._global_object_id, `${id ?? global.id}@${databaseName}`)
  }
  return global.id
}

function uuidOf(value: unknown, place: string): string | undefined {
  if (value === undefined || value === null) return undefined
  if (!isUuid(value)) {
    throw invalidValue(place, value, 'a unique identifier of 1 to 255 printable ASCII characters')
  }
  return value
}

function commentOf(value: unknown, place: string): string | undefined {
  if (value === undefined || value === null || value === '') return undefined
  if (typeof value !== 'string' || value.length > 10_000 || !value.isWellFormed() || value.includes('\0')) {
    throw invalidValue(place, value, 'text of at most 10000 characters')
  }
  return value
}
