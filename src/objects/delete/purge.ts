import { mapYielding } from '../../platform/process/cooperative-yield.ts'
import { formerLinks, linkTriples } from '../content/links.ts'
import type { SaveContext } from '../save/context.ts'
import { giveUpFiles } from '../save/write/files.ts'
import { removeLinks } from '../save/write/store.ts'
import { standardText } from '../standard/compute.ts'
import type { StoredObject } from '../stored/content.ts'
import { isBulk } from '../stored/index-lane.ts'

/**
 * Removes objects in the trash for good: head, all versions, links in both directions, unique values. Only the tombstone, so that
 * their ids are never used again, and the event log remain. Objects whose old versions link here show `_purged_or_deferred` instead
 * of the link.
 */
export async function purgeObjects(
  context: SaveContext,
  objects: readonly StoredObject[],
  { logged }: { readonly logged: boolean },
): Promise<void> {
  const { tx, deps, actor, at, yielder } = context
  const ids = objects.map((object) => object.systemObjectId)
  await tx.query(
    `with gone as (
       delete from object where system_object_id = any($1::bigint[]) returning system_object_id, objecttype, id, uuid
     ), versions as (
       delete from object_version where system_object_id = any($1::bigint[])
     ), links as (
       delete from object_link where to_id = any($1::bigint[])
     ), queued as (
       insert into index_queue (system_object_id, bulk) select id, ${isBulk} from unnest($1::bigint[]) as id
     )
     insert into object_tombstone (system_object_id, objecttype, id, uuid, purged_at, purged_by)
     select system_object_id, objecttype, id, uuid, $2, $3 from gone`,
    [ids, at, actor.userId],
    'purge-objects',
  )
  await giveUpFiles(tx, ids)
  // object_link is found by target; the contents give the targets of these objects.
  const linksOf = ({ table, content, systemObjectId }: StoredObject) => [
    ...linkTriples(table, content, systemObjectId),
    ...formerLinks(table, content, systemObjectId),
  ]
  await removeLinks(tx, (await mapYielding(objects, linksOf, yielder)).flat())
  tx.afterCommit(deps.wakeIndex)
  if (!logged) return
  const languages = deps.languages()
  await deps.events.append(
    tx,
    objects.map((object) => ({
      type: 'OBJECT_PURGE' as const,
      actor,
      schema: 'user',
      basetype: 'object',
      objecttype: object.table.name,
      objectId: object.id,
      objectVersion: object.version,
      systemObjectId: object.systemObjectId,
      info: { standard: standardText(object.standard, languages) },
    })),
  )
}
