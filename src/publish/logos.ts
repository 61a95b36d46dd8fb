import type { BaseConfig } from '../config/service.ts'

type Publishing = Pick<BaseConfig, 'publish'>

/** The logos of targets, as settings that keep their files. */
export function heldLogos(before: Publishing, after: Publishing) {
  const known = new Set(before.publish.collectors.map(({ logo }) => logo))
  const files = after.publish.collectors.flatMap(({ logo: id }, index) =>
    id === 0 ? [] : { id, path: `system/config/publish/collectors/${index}/logo`, known: known.has(id) },
  )
  return [{ holder: { section: 'publish' }, files }]
}
