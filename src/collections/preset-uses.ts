import type { Queryable, Tx } from '../platform/postgres/db.ts'
import { numbersText } from '../platform/postgres/literals.ts'
import type { PresetTerms, PresetUse } from '../rights/service.ts'
import { deleteUnnamed } from './shares/store.ts'

const madeFrom = (preset: string) => `acl @> jsonb_build_array(jsonb_build_object('preset', ${preset}::bigint))`

/** Changes the grants made from the presets, in all collections; the versions of these do not change. */
async function change(tx: Tx, ids: readonly number[], acl: string, values: readonly unknown[]): Promise<number[]> {
  const { rows } = await tx.query<{ id: number }>(
    `update collection c set acl = coalesce(${acl}, '[]')
     where exists (select from unnest($1::bigint[]) as p (id) where c.${madeFrom('p.id')}) returning c.id`,
    [numbersText(ids), ...values],
  )
  return rows.map(({ id }) => id)
}

/** Grants on collections as uses of presets (rights/presets). */
export const collectionPresetUse: PresetUse = {
  async count(tx: Queryable, presetId: number): Promise<number> {
    const { rows } = await tx.query<{ count: number }>(
      `select count(*)::int as count from collection where ${madeFrom('$1')}`,
      [presetId],
    )
    return rows[0]?.count ?? 0
  },
  async used(tx: Queryable, presetIds: readonly number[]): Promise<boolean> {
    const { rows } = await tx.query(
      `select from unnest($1::bigint[]) as p (id) where exists (select from collection where ${madeFrom('p.id')}) limit 1`,
      [numbersText(presetIds)],
    )
    return rows.length > 0
  },
  async apply(tx: Tx, presets: readonly { id: number; terms: PresetTerms }[]): Promise<number> {
    const terms = presets.map(({ id, terms: { rights, tagfilter } }) => ({ id, terms: { rights, tagfilter } }))
    const now = `(select jsonb_agg(
        case when t.terms is null then g.entry else g.entry - 'tagfilter' || t.terms end order by g.place)
      from jsonb_array_elements(c.acl) with ordinality as g (entry, place)
      left join jsonb_to_recordset($2) as t (id bigint, terms jsonb) on t.id = (g.entry->>'preset')::bigint)`
    const changed = await change(
      tx,
      presets.map(({ id }) => id),
      now,
      [JSON.stringify(terms)],
    )
    return changed.length
  },
  async remove(tx: Tx, presetId: number): Promise<number> {
    const left = `(select jsonb_agg(g.entry order by g.place)
      from jsonb_array_elements(c.acl) with ordinality as g (entry, place)
      where coalesce((g.entry->>'preset')::bigint, 0) <> all($1::bigint[]))`
    const changed = await change(tx, [presetId], left, [])
    await deleteUnnamed(tx, changed)
    return changed.length
  },
}

/** Combines several uses of presets. */
export function presetUses(...uses: readonly PresetUse[]): PresetUse {
  const sum = async (ask: (use: PresetUse) => Promise<number>): Promise<number> => {
    let all = 0
    for (const use of uses) all += await ask(use)
    return all
  }
  return {
    count: (tx, id) => sum((use) => use.count(tx, id)),
    async used(tx, ids) {
      for (const use of uses) if (await use.used(tx, ids)) return true
      return false
    },
    apply: (tx, presets) => sum((use) => use.apply(tx, presets)),
    remove: (tx, id) => sum((use) => use.remove(tx, id)),
  }
}
