/** Collections as clients see them. */

import type { RightApi } from '../rights/schema.ts'
import { inForce, renderWho, type WhoNames } from '../rights/service.ts'
import { type Access, type Chains, grantsOn } from './access.ts'
import type { Ancestor, Collection, CreateObject } from './model.ts'
import type { CollectionName, CollectionOutput } from './schema.ts'
import type { Figures } from './store.ts'

/** Data loaded for all collections of an answer together. */
export interface Parts {
  readonly names: WhoNames
  readonly chains: Chains
  readonly figures: ReadonlyMap<number, Figures>
  readonly accessTo: (collection: Collection) => Access
  /** The ancestors that the caller may see. */
  readonly seen: ReadonlySet<number>
  /** In the order of the collections. */
  readonly acls: readonly (readonly RightApi[])[]
  /** Upload addresses of the collections that the caller may upload into. */
  readonly uploads: ReadonlyMap<number, readonly UploadAddress[]>
  readonly at: number
}

/** An entry of `_hotfolder_upload_urls`. */
export interface UploadAddress {
  readonly type: 'webdav' | 'webdav-hotfolder'
  readonly url: string
}

export function renderCollections(collections: readonly Collection[], parts: Parts): CollectionOutput[] {
  return collections.map((collection, index) => {
    const { chains, figures } = parts
    const access = parts.accessTo(collection)
    const { hasChildren, countRecursive } = figures.get(collection.id) ?? { hasChildren: false, countRecursive: 0 }
    const compiled = compiledOf(collection, chains)
    return {
      _basetype: 'collection' as const,
      collection: renderOwn(collection),
      _owner: renderWho(`u${collection.ownerId}`, parts.names),
      _level: collection.path.length,
      _path: collection.path.slice(0, -1).map((id) => renderName(id, chains.get(id), parts.seen.has(id))),
      _has_children: hasChildren,
      _count: collection.objectCount,
      _count_recursive: countRecursive,
      _has_remote_objects: collection.remoteCount > 0,
      _has_acl: grantsOn(collection, chains).some((grant) => inForce(grant, parts.at)),
      ...(access.may('bag_acl') ? { _acl: [...(parts.acls[index] ?? [])] } : {}),
      _private_acl: collection.privateAcl,
      _invalid_acl: collection.invalidAcl,
      _has_pin: collection.pinId !== null,
      ...(collection.pinId === null ? {} : { pin_ok: access.pinOk, _pin_ok: access.pinOk }),
      _generated_rights: access.rights,
      ...(compiled ? { _create_object_compiled: compiled } : {}),
      ...(parts.uploads.has(collection.id)
        ? { _hotfolder_upload_urls: [...(parts.uploads.get(collection.id) ?? [])] }
        : {}),
      _created_at: collection.createdAt.toISOString(),
      _updated_at: collection.updatedAt.toISOString(),
    }
  })
}

function renderOwn(collection: Collection): CollectionOutput['collection'] {
  return {
    _id: collection.id,
    _version: collection.version,
    _id_parent: collection.parentId,
    ...(collection.reference === null ? {} : { reference: collection.reference }),
    ...(collection.shortname === null ? {} : { shortname: collection.shortname }),
    uuid: collection.uuid,
    ...(collection.type === null ? {} : { type: collection.type }),
    displayname: collection.displayname,
    description: collection.description,
    webfrontend_props: collection.webfrontendProps,
    ...(collection.createObject === null ? {} : { create_object: collection.createObject }),
    children_allowed: collection.childrenAllowed,
    objects_allowed: collection.objectsAllowed,
    is_system_collection: collection.isSystem,
  }
}

/** A reference to a collection. If the caller may not see it, it has only the id, so that a path has no gap. */
export function renderName(
  id: number,
  stored: Pick<Ancestor, 'parentId' | 'version' | 'displayname'> | undefined,
  isSeen: boolean,
): CollectionName {
  if (!stored || !isSeen) return { _basetype: 'collection', collection: { _id: id } }
  const { parentId, version, displayname } = stored
  return { _basetype: 'collection', collection: { _id: id, _id_parent: parentId, _version: version, displayname } }
}

/** The upload settings of the nearest collection with some, going up. */
export function compiledOf({ path }: Pick<Collection, 'path'>, chains: Chains): CreateObject | null {
  for (const id of path.toReversed()) {
    const found = chains.get(id)?.createObject
    if (found) return found
  }
  return null
}
