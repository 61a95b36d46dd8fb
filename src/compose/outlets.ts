import {
  createDeepLinkService,
  createFindByColumn,
  createSitemaps,
  createStrangerQuota,
} from '../deep-links/service.ts'
import { createFormatService } from '../formats/service.ts'
import { createDublinCore } from '../mappings/export/dublin-core.ts'
import { deepLink, pageLink } from '../platform/values/deep-link.ts'
import { createPublishService } from '../publish/service.ts'
import type { Given, Ground } from './ground.ts'
import type { Objects } from './objects.ts'
import type { People } from './people.ts'
import type { Readers } from './readers.ts'
import type { Workflow } from './workflow.ts'

export type Outlets = ReturnType<typeof composeOutlets>

/** The outputs of objects: documents, links, and records of publications elsewhere. */
export function composeOutlets(
  { config, db }: Given,
  { heavyRequests }: Ground,
  { baseConfig, datamodel, languages, objecttypes, pools }: Readers,
  { signIn }: People,
  { files, mappings }: Workflow,
  { read, search, collections }: Objects,
) {
  /** Null: deep links lead nowhere. */
  const linkOf = (uuid: string): string | null =>
    baseConfig.get().deep_link_access.enabled ? deepLink(config.externalUrl, uuid) : null
  const publish = createPublishService({
    db,
    baseConfig,
    read,
    words: config.identifierAliases,
    linkOf: (uuid) => deepLink(config.externalUrl, uuid),
  })
  const formats = createFormatService({
    db,
    datamodel,
    read,
    files,
    dublinCore: createDublinCore({
      db,
      datamodel,
      mappings,
      objecttypes,
      pools,
      languages,
      linkOf,
    }),
    mappings: mappings.xml,
    languages,
    linkOf,
    publisher: () => baseConfig.instanceTitle() || config.databaseName,
    sheets: () => baseConfig.get().export.xslts,
    pageOf: (object) => pageLink(config.externalUrl, baseConfig.get(), object),
  })
  const admitStranger = createStrangerQuota({ db, most: config.quotaDeepLinks })
  const deepLinks = createDeepLinkService({
    externalUrl: config.externalUrl,
    datamodel,
    settings: baseConfig.get,
    languages,
    words: config.identifierAliases,
    stranger: signIn.actorOfLinks,
    admit: admitStranger,
    findByColumn: createFindByColumn({ datamodel, search: search.search }),
    read,
    collections,
    files,
    formats,
    heavyRequests,
  })
  const sitemaps = createSitemaps({
    db,
    externalUrl: config.externalUrl,
    settings: baseConfig.get,
    stranger: signIn.actorOfLinks,
    admit: admitStranger,
    read,
    heavyRequests,
  })
  return { formats, deepLinks, sitemaps, publish, admitStranger }
}
