import type { Tx } from '../platform/postgres/db.ts'

/** Upload settings that name mappings: when a mapping is deleted, its name is removed from them. */
export const collectionMappingUse = {
  name: 'collections',
  async count(tx: Tx, id: number): Promise<number> {
    const { rows } = await tx.query<{ count: number }>(
      `select count(*)::int as count from collection where create_object -> 'mapping' = to_jsonb($1::bigint)`,
      [id],
    )
    return rows[0]?.count ?? 0
  },
  async remove(tx: Tx, id: number): Promise<void> {
    await tx.query(
      `update collection set version = version + 1, create_object = create_object - 'mapping' - 'mapping_recipe_configs'
       where create_object -> 'mapping' = to_jsonb($1::bigint)`,
      [id],
    )
  },
}
