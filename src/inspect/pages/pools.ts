import { inspectPools } from '../../objects/service.ts'
import { type Html, html, joined } from '../../platform/values/html.ts'
import { textIn } from '../../platform/values/localized.ts'
import type { Pool } from '../../pools/service.ts'
import type { ConsolePage } from '../model.ts'
import { notThere, pathId } from '../query.ts'
import { facts, section, table, tiles } from '../view/parts.ts'
import type { View } from '../view/view.ts'
import type { PageDeps } from './deps.ts'
import { namesFor } from './names.ts'
import { fileTable } from './type-content.ts'

type Deps = Pick<PageDeps, 'db' | 'datamodel' | 'pools' | 'baseConfig'>

interface Sums {
  readonly live: number
  readonly deleted: number
}

/** Number of objects of each pool, including the pools below it. */
async function sumsOf({ db, pools }: Deps) {
  const own = new Map((await inspectPools(db, [...pools.snapshot().keys()])).map((row) => [row.poolId, row]))
  const sums = new Map<number, Sums>()
  // Parents come before their children.
  for (const { id, parentId } of [...pools.snapshot().values()].reverse()) {
    const { live = 0, deleted = 0 } = own.get(id) ?? {}
    const below = sums.get(id) ?? { live: 0, deleted: 0 }
    const sum = { live: live + below.live, deleted: deleted + below.deleted }
    sums.set(id, sum)
    if (parentId === null) continue
    const above = sums.get(parentId) ?? { live: 0, deleted: 0 }
    sums.set(parentId, { live: above.live + sum.live, deleted: above.deleted + sum.deleted })
  }
  return { own, sums }
}

/** The tree of pools (own extension). */
export function poolsPage(deps: Deps): ConsolePage {
  return {
    path: 'pools',
    section: 'pools',
    query: [],
    members: ['Pools'],
    async load() {
      const { own, sums } = await sumsOf(deps)
      const languages = deps.baseConfig.databaseLanguages()
      const all = [...deps.pools.snapshot().values()]
      const children = Map.groupBy(all, ({ parentId }) => parentId)
      return {
        json: {
          Pools: all.map(({ id, parentId, name, reference }) => ({
            pool_id: id,
            parent_id: parentId,
            name,
            reference,
            live: own.get(id)?.live ?? 0,
            live_below: sums.get(id)?.live ?? 0,
          })),
        },
        title: ({ text }) => text('nav.pools'),
        show: (view) => {
          const list = (pools: readonly Pool[]): Html =>
            html`<ul>${pools.map(({ id, name, reference }) => {
              const below = children.get(id) ?? []
              const label = textIn(name, languages) || reference || `${id}`
              const count = view.text('pools.objects', { count: view.number(sums.get(id)?.live ?? 0) })
              return html`<li><a href="${view.link(`pools/${id}/`)}">${label}</a> <span class="muted">${count}</span>${below.length > 0 ? list(below) : ''}</li>`
            })}</ul>`
          return html`<section class="tree">${list(children.get(null) ?? [])}</section>`
        },
      }
    },
  }
}

/** One pool, and the pools directly below it. */
export function poolPage(deps: Deps): ConsolePage {
  return {
    path: 'pools/:pool',
    section: 'pools',
    query: [],
    members: ['PoolStats', 'PoolStatsSubpools'],
    async load({ actor, params }) {
      const id = pathId(params.pool, 'pool')
      const pool = deps.pools.snapshot().get(id)
      if (!pool) throw notThere({ pool: id })
      const [{ files }, { own, sums }, names] = await Promise.all([
        deps.pools.stats(actor, id, { below: true }),
        sumsOf(deps),
        namesFor(deps),
      ])
      const statsOf = (one: Pool) => ({
        pool_id: one.id,
        name: one.name,
        reference: one.reference,
        live: own.get(one.id)?.live ?? 0,
        deleted: own.get(one.id)?.deleted ?? 0,
        live_below: sums.get(one.id)?.live ?? 0,
        deleted_below: sums.get(one.id)?.deleted ?? 0,
      })
      const below = [...deps.pools.snapshot().values()].filter(({ parentId }) => parentId === id)
      const stats = { ...statsOf(pool), files }
      const subpools = below.map(statsOf)
      return {
        json: { PoolStats: stats, PoolStatsSubpools: subpools },
        title: ({ text }) => `${text('pool')} ${names.pool(id)}`,
        show: (view) => poolContent(view, { pool, stats, subpools, nameOf: names.pool }),
      }
    },
  }
}

interface Stats extends Sums {
  readonly pool_id: number
  readonly live_below: number
  readonly deleted_below: number
}

interface PoolShown {
  readonly pool: Pool
  readonly stats: Stats & { readonly files: Parameters<typeof fileTable>[1] }
  readonly subpools: readonly Stats[]
  readonly nameOf: (id: number) => string
}

function poolContent(view: View, { pool, stats, subpools, nameOf }: PoolShown): Html {
  const { text, number, bytes, link, when } = view
  const path = [...pool.path, pool.id].filter((id, index, all) => all.indexOf(id) === index)
  return joined([
    html`<p>${path.map((id, index) => html`${index > 0 ? ' › ' : ''}<a href="${link(`pools/${id}/`)}">${nameOf(id)}</a>`)}</p>`,
    tiles([
      { label: text('objects'), value: number(stats.live), to: link('objects/', { pool: pool.id }) },
      { label: text('pools.below'), value: number(stats.live_below) },
      {
        label: text('state.deleted'),
        value: number(stats.deleted),
        to: link('objects/', { pool: pool.id, trash: 'deleted' }),
      },
      { label: text('files'), value: number(stats.files.count) },
      { label: text('size'), value: bytes(stats.files.size) },
    ]),
    section(
      text('details'),
      facts([
        [text('id'), pool.id],
        [text('reference'), pool.reference],
        [text('version'), pool.version],
        [text('grants'), pool.acl.length],
        [text('created'), when(pool.createdAt)],
        [text('modified'), when(pool.updatedAt)],
      ]),
    ),
    section(
      text('pools.sub'),
      table<Stats>(
        view,
        text('pools.sub.caption'),
        [
          {
            label: text('pool'),
            value: ({ pool_id }) => html`<a href="${link(`pools/${pool_id}/`)}">${nameOf(pool_id)}</a>`,
          },
          { label: text('objects'), kind: 'number', value: ({ live }) => number(live) },
          { label: text('pools.below'), kind: 'number', value: ({ live_below }) => number(live_below) },
          { label: text('state.deleted'), kind: 'number', value: ({ deleted_below }) => number(deleted_below) },
        ],
        subpools,
      ),
    ),
    section(text('files'), fileTable(view, stats.files)),
  ])
}
