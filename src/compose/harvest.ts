import { collectionsSeen, collectionsTopic } from '../collections/service.ts'
import { createFollower, createHarvestService, createPrefixes, createSets, createTokens } from '../harvest/service.ts'
import { principalsTopic } from '../people/service.ts'
import type { Given, Ground } from './ground.ts'
import type { Objects } from './objects.ts'
import type { Outlets } from './outlets.ts'
import type { People } from './people.ts'
import type { Readers } from './readers.ts'

export type Harvest = ReturnType<typeof composeHarvest>

/** The records for harvesters, with the jobs that keep them up to date. */
export function composeHarvest(
  { config, db, log }: Given,
  { bus, seal, snapshots, heavyRequests }: Ground,
  { baseConfig, datamodel, events, languages, pools }: Readers,
  { rights, signIn }: People,
  { read, search }: Objects,
  { formats, admitStranger }: Pick<Outlets, 'formats' | 'admitStranger'>,
  opened: AsyncDisposableStack,
) {
  const { externalUrl } = config
  const settings = baseConfig.get
  const sets = createSets({ db, datamodel, pools, rights, settings, collectionsSeen, languages })
  let heard = 0
  for (const topic of [collectionsTopic, principalsTopic]) opened.defer(bus.subscribe(topic, () => heard++))
  const follower = createFollower({
    db,
    log,
    sets,
    search,
    read,
    enabled: () => settings().oai_pmh.enabled,
    harvester: signIn.actorOfHarvests,
    surroundings: () => snapshots.world().snapshots + heard,
  })
  opened.defer(() => follower.close())
  const harvest = createHarvestService({
    db,
    events,
    externalUrl,
    settings,
    instanceName: () => baseConfig.instanceTitle() || config.databaseName,
    harvester: signIn.actorOfHarvests,
    admit: admitStranger,
    read,
    follower,
    formats,
    prefixes: createPrefixes({ externalUrl, formats, sheets: () => settings().export.xslts }),
    sets,
    tokens: createTokens({ key: () => seal.keyFor('resumption tokens'), now: Date.now }),
    heavyRequests,
  })
  return { harvest }
}
