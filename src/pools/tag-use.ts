import type { Bus } from '../platform/postgres/bus.ts'
import type { Tx } from '../platform/postgres/db.ts'
import { poolTopic } from './snapshot.ts'
import { countGrantTags, countPoolTags, removePoolTags } from './store.ts'

/**
 * Settings of pools for a tag may be removed together with the tag. A grant with a condition on a tag prevents its deletion,
 * because without the condition the grant would give more.
 */
export function poolTagUses(bus: Pick<Bus, 'publish'>) {
  return [
    {
      context: 'pool_tag',
      count: countPoolTags,
      async remove(tx: Tx, tagIds: readonly number[]): Promise<void> {
        await removePoolTags(tx, tagIds)
        await bus.publish(tx, poolTopic)
      },
    },
    { context: 'pool_right', count: countGrantTags },
  ]
}
