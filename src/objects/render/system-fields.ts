import type { Mask, SystemFieldName } from '../../datamodel/model.ts'
import { type Principal, renderWho, type StoredGrant } from '../../rights/service.ts'
import type { FileEntry } from '../content/file-links.ts'
import { standardMask } from '../masks/preference.ts'
import type { Wire } from '../masks/reader.ts'
import type { Standard } from '../stored/content.ts'
import { isProvisional } from '../stored/provisional-ids.ts'
import type { Head, Loaded } from '../stored/rows.ts'
import { flat } from './flat.ts'
import type { Format } from './formats.ts'
import { shortBytes } from './parts.ts'
import { wirePool, wireTags } from './pools-and-tags.ts'
import type { Run } from './run.ts'
import { standardText, wireStandard } from './standard.ts'

/** The members that every form of an object has: its identity and its name. */
export function identity(run: Run, object: Head, mask: Mask): Wire {
  return unnumbered(object, {
    _objecttype: object.table.name,
    _mask: mask.name,
    _system_object_id: object.systemObjectId,
    _global_object_id: globalId(run, object.systemObjectId),
    _uuid: object.uuid,
  })
}

function globalId(run: Run, systemObjectId: number): string {
  return flat(systemObjectId, '@', run.deps.databaseName)
}

/** A new object has no ids in a dry run (DB-004). */
function unnumbered({ systemObjectId, id }: Head, wire: Wire): Wire {
  if (isProvisional(systemObjectId)) {
    delete wire._system_object_id
    delete wire._global_object_id
  }
  if (isProvisional(id)) delete wire._id
  return wire
}

/** The short form: identity, `_standard` and the block with `_id` and `_version`. */
export function shortObject(run: Run, object: Head | Loaded, mask: Mask): Wire {
  const wire = identity(run, object, mask)
  setStandard(run, wire, object, false)
  if (object.deletedAt) wire._latest_version_deleted_at = object.deletedAt.toISOString()
  wire[object.table.name] = unnumbered(object, { _id: object.id, _version: object.version })
  return wire
}

/** The short form of an object that is linked: one for all places, so it must not be changed. */
export function sharedShort(run: Run, object: Head | Loaded, mask: Mask): Wire | string {
  const known = run.shorts.get(object)
  if (known?.mask === mask) return known.wire
  const isPlain = run.options.languages === null && !isPast(object) && !isProvisional(object.systemObjectId)
  const wire = isPlain ? run.parts.text([shortText(run, object, mask)]) : shortObject(run, object, mask)
  run.shorts.set(object, { mask, wire })
  return wire
}

/** Short forms as JSON, with the other values on which they depend: the same few objects are the targets of most links. */
const shortTexts = new WeakMap<Head, { readonly mask: Mask; readonly languages: unknown; readonly text: string }>()

function shortText(run: Run, object: Head | Loaded, mask: Mask): string {
  const languages = run.deps.languages()
  const known = shortTexts.get(object)
  if (known?.mask === mask && known.languages === languages) return known.text
  const { systemObjectId, uuid, deletedAt, id, version } = object
  const view = { extended: false, languages: null, databaseLanguages: languages }
  const standard = standardText(wireStandard(object.standard, systemObjectId, view))
  const [start, block] = frameOf(mask)
  const deleted = deletedAt ? `"_latest_version_deleted_at":"${deletedAt.toISOString()}",` : ''
  const ids = `${start}"_system_object_id":${systemObjectId},"_global_object_id":${JSON.stringify(globalId(run, systemObjectId))},"_uuid":"${uuid}"`
  const text = `${ids},"_standard":${standard},${deleted}${block}{"_id":${id},"_version":${version}}}`
  shortTexts.set(object, { mask, languages, text })
  return text
}

/** The start of short forms with this mask, and the name of their block. */
const frames = new WeakMap<Mask, readonly [start: string, block: string]>()

function frameOf(mask: Mask): readonly [start: string, block: string] {
  let frame = frames.get(mask)
  if (!frame) {
    const { name, table } = mask
    const start = `{"_objecttype":${JSON.stringify(table.name)},"_mask":${JSON.stringify(name)},`
    frame = [start, `${JSON.stringify(table.name)}:`]
    frames.set(mask, frame)
  }
  return frame
}

/** Identity and system fields of the longer formats, as far as the mask shows them. */
export function systemFields(run: Run, object: Loaded, mask: Mask, format: Format, top: boolean): Wire {
  const { table } = object
  // All names that may follow are set from the beginning: see `emptyWire`.
  const wire: Wire = {
    _objecttype: table.name,
    _objecttype_display_name: table.nameLocalized,
    _mask: mask.name,
    _mask_display_name: mask.nameLocalized,
    _format: format.name,
    _system_object_id: object.systemObjectId,
    _global_object_id: globalId(run, object.systemObjectId),
    _uuid: object.uuid,
    _standard: undefined,
    _owner: undefined,
    _create_user: undefined,
    _created: undefined,
    _last_modified: undefined,
    _latest_version: undefined,
    _latest_version_deleted_at: undefined,
    _tags: undefined,
    _pool: undefined,
    _comment: undefined,
    _private_acl: undefined,
    _acl: undefined,
    _generated_rights: undefined,
    _changelog: undefined,
    _collections: undefined,
    _published: undefined,
    _published_count: undefined,
  }
  unnumbered(object, wire)
  setStandard(run, wire, object, format.extended)
  const isLatest = object.version === object.latestVersion
  if (shows(mask, 'owner')) {
    setOwner(run, wire, object)
    if (format.long && object.createdBy !== null) setPerson(run, wire, '_create_user', `u${object.createdBy}`)
  }
  wire._created = object.createdAt.toISOString()
  wire._last_modified = object.at.toISOString()
  wire._latest_version = isLatest
  if (object.deletedAt) wire._latest_version_deleted_at = object.deletedAt.toISOString()
  if (table.hasTags && shows(mask, 'tags')) wire._tags = wireTags(run, object)
  if (table.poolLink && shows(mask, 'pool')) setPool(run, wire, object, format)
  if (object.comment !== null) wire._comment = object.comment
  else if (format.full) wire._comment = null
  if (format.extended && isHierarchical(object) && shows(mask, 'parent')) run.hierarchy.push({ object, holder: wire })
  if (format.long) setGrants(run, wire, object, mask)
  if (top) setDetails(run, wire, object, mask, format)
  return wire
}

/** The system fields inside the block. */
export function setBlockFields(run: Run, block: Wire, object: Loaded, mask: Mask, wire: Wire): void {
  block._id = object.id
  block._version = object.version
  unnumbered(object, block)
  if (wire._pool !== undefined) block._pool = wire._pool
  if (isHierarchical(object) && shows(mask, 'parent')) setParents(run, block, object)
}

export function shows(mask: Mask, field: SystemFieldName): boolean {
  return mask.system[field].output !== 'off'
}

export function isHierarchical({ table }: Head): boolean {
  return table.hierarchical || table.polyhierarchical
}

const isPast = (object: Head | Loaded): boolean => 'latestVersion' in object && object.version !== object.latestVersion

/** The stored standard belongs to the latest version; the standard of an older one is computed after everything else is loaded. */
export function setStandard(run: Run, wire: Wire, object: Head | Loaded, extended: boolean): void {
  const view = { extended, languages: run.options.languages, databaseLanguages: run.deps.languages() }
  const set = (standard: Standard): void => {
    const shown = wireStandard(standard, object.systemObjectId, view)
    wire._standard = shown === standard ? run.parts.text([standardText(standard)]) : shown
    if (!extended || shown.eas === undefined) return
    const levels = { ...(shown.eas as Record<string, readonly FileEntry[]>) }
    shown.eas = levels
    for (const [key, files] of Object.entries(levels)) {
      run.files.push({ holder: levels, key, files, object: null, uuid: object.uuid })
    }
  }
  set(object.standard)
  if (isPast(object)) run.oldStandards.push({ object: object as Loaded, done: set })
}

function ownerOf(object: Head): Principal | null {
  if (object.ownerUser !== null) return `u${object.ownerUser}`
  return object.ownerGroup === null ? null : `g${object.ownerGroup}`
}

function setOwner(run: Run, wire: Wire, object: Loaded): void {
  const who = ownerOf(object)
  if (who === null) return
  wire._owner = null
  const contact = object.poolId !== null && run.deps.pools.byId(object.poolId)?.contact === who
  run.people.push({
    who,
    done: (names) => {
      wire._owner = { ...renderWho(who, names), _owner: true, _pool_contact: contact }
    },
  })
}

export function setPerson(run: Run, wire: Wire, key: string, who: Principal): void {
  wire[key] = null
  run.people.push({
    who,
    done: (names) => {
      wire[key] = renderWho(who, names)
    },
  })
}

function setPool(run: Run, wire: Wire, { poolId }: Loaded, { full }: Format): void {
  if (poolId !== null) wire._pool = wirePool(run, poolId)
  else if (full) wire._pool = null
}

/** Grants are only shown to callers that may change them. */
function setGrants(run: Run, wire: Wire, object: Loaded, mask: Mask): void {
  if (!object.table.aclTable || !shows(mask, 'acl') || !run.caller.may('acl', object.guard)) return
  wire._private_acl = object.privateAcl
  wire._acl = []
  const grants = (object.acl ?? []) as readonly StoredGrant[]
  if (grants.length === 0) return
  run.acls.push({
    grants,
    done: (acl) => {
      wire._acl = acl
    },
  })
}

/**
 * `_id_parent` is the `_id` of the parent, `_parents` are the parents themselves; the place was reserved by the ids of their rows.
 */
function setParents(run: Run, block: Wire, object: Loaded): void {
  if (object.table.polyhierarchical) {
    const parents: unknown[] = object.parents.map(() => null)
    block._parents = parents
    run.parts.spend(parents.length * shortBytes)
    for (const [index, id] of object.parents.entries()) {
      const done = (found: Head | undefined) => {
        parents[index] = linkedShort(run, found, id, object.table)
      }
      run.wants.push({ id, asOf: null, content: false, done })
    }
    return
  }
  block._id_parent = null
  const [id] = object.parents
  if (id === undefined) return
  const done = (found: Head | undefined) => {
    if (found && isProvisional(found.id)) delete block._id_parent
    else block._id_parent = found?.id ?? null
  }
  run.wants.push({ id, asOf: null, content: false, done })
}

/** An object that is always shown short: a parent, an ancestor, a link. */
export function linkedShort(run: Run, found: Head | undefined, id: number, table: Head['table']): Wire | string {
  if (!found) return goneObject(run, id, table)
  if (!run.caller.root && !run.caller.may('read', found.guard)) return hiddenObject(run, found)
  const mask = standardMask(run, found)
  return found.deletedAt ? trashedObject(run, found, mask) : sharedShort(run, found, mask)
}

/** A purged object, or a promised one that does not exist yet. It can be sent back as it is. */
export function goneObject(run: Run, id: number, table: Head['table']): Wire {
  const uuid = run.promised.get(id)
  if (uuid !== undefined) {
    const named = { 'lookup:_id': { _uuid: uuid, _allow_defer: true } }
    return { _objecttype: table.name, _purged_or_deferred: true, [table.name]: named }
  }
  return {
    _objecttype: table.name,
    _system_object_id: id,
    _global_object_id: globalId(run, id),
    _purged_or_deferred: true,
  }
}

/** An object that the caller may not read: enough to send the link back (OBJ-018), none of its values. */
export function hiddenObject(run: Run, object: Head): Wire {
  return unnumbered(object, {
    _objecttype: object.table.name,
    _system_object_id: object.systemObjectId,
    _global_object_id: globalId(run, object.systemObjectId),
    _not_allowed: true,
  })
}

/** A linked object in the trash: a short form with the time of deletion. */
export function trashedObject(run: Run, object: Head | Loaded, mask: Mask): Wire {
  const wire = identity(run, object, mask)
  setStandard(run, wire, object, false)
  const since = object.deletedAt ?? ('at' in object ? object.at : null)
  wire._latest_version_deleted_at = since?.toISOString()
  return wire
}

/** Members of requested objects only. */
function setDetails(run: Run, wire: Wire, object: Loaded, mask: Mask, format: Format): void {
  if (format.full || run.options.generateRights) wire._generated_rights = run.caller.rightsOn(object.guard)
  if (!format.full) return
  wire._changelog = []
  run.history.push({ object, holder: wire })
  const inCollections = shows(mask, 'collections')
  if (inCollections) wire._collections = []
  if (shows(mask, 'publish')) {
    wire._published = []
    wire._published_count = 0
  }
  if (inCollections || wire._published !== undefined) run.details.push({ object, holder: wire })
}
