import { LRUCache } from 'lru-cache'
import { RE2JS } from 're2js'
import type { Queryable, Tx } from '../../platform/postgres/db.ts'
import { createYielder } from '../../platform/process/cooperative-yield.ts'
import type { DirectoryKind } from './model.ts'

interface Rule {
  readonly method: string
  readonly value: string
}

interface RuledGroup {
  readonly id: number
  readonly name: string | null
  readonly rules: readonly Rule[]
}

const patterns = new LRUCache<string, RE2JS>({ max: 5000 })

/**
 * The groups with a rule that matches one of the names: `eq` the same text, `regexp` a pattern that is found in it. System groups
 * take their members by type alone.
 */
export async function groupsByRules(
  from: Queryable,
  kind: DirectoryKind,
  names: readonly string[],
): Promise<RuledGroup[]> {
  const { rows } = await from.query<RuledGroup>(
    `select id, name, auth_method_group_maps -> $1 as rules from "group"
     where type = 'native' and jsonb_array_length(coalesce(auth_method_group_maps -> $1, '[]')) > 0 order by id`,
    [kind],
    'groups_by_rules',
  )
  const exact = new Set(names)
  const yielder = createYielder()
  const met: RuledGroup[] = []
  for (const group of rows) {
    for (const { method, value } of group.rules) {
      if (yielder.due()) await yielder.yield()
      if (method === 'eq' ? exact.has(value) : names.some((name) => patternOf(value).matcher(name).find())) {
        met.push(group)
        break
      }
    }
  }
  return met
}

function patternOf(source: string): RE2JS {
  const known = patterns.get(source)
  if (known) return known
  const pattern = RE2JS.compile(source)
  patterns.set(source, pattern)
  return pattern
}

/**
 * Sets the groups that a user has through directories to exactly these; manually assigned groups are kept. Returns whether anything
 * changed.
 */
export async function setAutomaticGroups(
  tx: Tx,
  userId: number,
  kind: DirectoryKind,
  groupIds: readonly number[],
): Promise<boolean> {
  const { rows } = await tx.query<{ changed: boolean }>(
    `with gone as (
       delete from user_group where user_id = $1 and automatic is not null and not group_id = any($3) returning 1
     ), kept as (
       update user_group set automatic = $2, automatic_at = now()
       where user_id = $1 and automatic is not null and group_id = any($3)
     ), added as (
       insert into user_group (user_id, group_id, automatic, automatic_at)
       select $1, id, $2, now() from "group" where id = any($3) order by id on conflict do nothing returning 1
     )
     select exists (select from gone) or exists (select from added) as changed`,
    [userId, kind, groupIds],
    'automatic_groups',
  )
  return rows[0]?.changed ?? false
}
