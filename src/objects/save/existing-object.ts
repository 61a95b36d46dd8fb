import type { Model } from '../../datamodel/model.ts'
import type { Standard } from '../stored/content.ts'

/** The properties of an existing object that a save needs: its identity, the values on which rights depend, and its standard. */
export interface ExistingObject {
  readonly systemObjectId: number
  readonly objecttypeId: number
  readonly id: number
  readonly version: number
  readonly uuid: string
  readonly poolId: number | null
  readonly ownerUserId: number | null
  readonly ownerGroupId: number | null
  readonly tags: readonly number[]
  readonly acl: unknown
  readonly privateAcl: boolean
  readonly parents: readonly number[]
  readonly deleted: boolean
  readonly deletedAt: Date | null
  readonly standard: Standard
}

/** The row as the rights see it: an object whose type has no grants has none, whatever is stored. */
export function asGuarded<T extends Pick<ExistingObject, 'objecttypeId' | 'acl' | 'privateAcl'>>(
  tablesById: Model['tablesById'],
  row: T,
): T {
  return tablesById.get(row.objecttypeId)?.aclTable ? row : { ...row, acl: null, privateAcl: false }
}

/** Columns of `object o` that rights depend on, for `ExistingObject`. */
export const guardColumns = `o.system_object_id as "systemObjectId", o.objecttype as "objecttypeId", o.id,
  o.pool_id as "poolId", o.owner_user as "ownerUserId", o.owner_group as "ownerGroupId", o.tags, o.acl,
  o.private_acl as "privateAcl", o.deleted_at is not null as deleted`

/** The rest of `ExistingObject`. */
export const existingColumns = `${guardColumns}, o.version, o.uuid, o.parents, o.standard, o.deleted_at as "deletedAt"`
