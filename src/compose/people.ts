import { mailRecipients } from '../auth/mail-recipients.ts'
import { createPrincipals } from '../auth/principals.ts'
import { createAuth } from '../auth/service.ts'
import { userPictures } from '../files/service.ts'
import { createMailService } from '../mail/service.ts'
import { createMessageService } from '../messages/service.ts'
import { messagePart } from '../messages/sign-in.ts'
import { groupsOfObjects, replaceOwner } from '../objects/upkeep/uses.ts'
import { clientConventions } from '../platform/config/versions.ts'
import { outgoingLimits } from '../platform/outgoing/limits.ts'
import type { Tx } from '../platform/postgres/db.ts'
import { createRightsService, presetTerms } from '../rights/service.ts'
import { visionBytes } from '../search/service.ts'
import type { Given, Ground } from './ground.ts'
import type { Kept } from './kept.ts'

export type People = ReturnType<typeof composePeople>

/** Who is there, and who may do what. */
export function composePeople(
  { config, db, loginParts = [] }: Given,
  { bus, seal, jobs, queued }: Ground,
  { baseConfig, events, datamodel, tags, objecttypes, pools }: Kept,
  opened: AsyncDisposableStack,
) {
  const principals = createPrincipals({ bus })
  opened.defer(() => principals.close())
  const rights = createRightsService({
    containers: () => ({ pools: pools.grants(), objecttypes: objecttypes.grants() }),
    findPeople: principals.find,
    existingTags: tags.existing,
    presets: presetTerms,
    derivedBytes: (count) => visionBytes(datamodel.current().objecttypes.size, count),
  })
  const conventionOf = clientConventions(config)
  const messages = createMessageService({ db, events, principals, conventionOf })
  /** What a user or group that goes leaves behind: objects and pools. */
  async function replacePerson(tx: Tx, kind: 'user' | 'group', from: number, to: number): Promise<void> {
    await replaceOwner(tx, kind, from, to, queued.raise)
    await pools.replacePerson(tx, kind, from, to)
  }
  const mail = createMailService({
    db,
    seal,
    jobs,
    events,
    baseConfig,
    externalUrl: config.externalUrl,
    readers: mailRecipients,
    limits: outgoingLimits(config),
  })
  const auth = createAuth({
    config,
    db,
    seal,
    bus,
    events,
    conventionOf,
    baseConfig,
    principals,
    rights: { ...rights, groupsOfObjects },
    removal: {
      replaceUser: (tx, from, to) => replacePerson(tx, 'user', from, to),
      async replaceGroup(tx, from, to) {
        await replacePerson(tx, 'group', from, to)
        await messages.replaceGroup(tx, from, to)
      },
    },
    instance: () => ({ name: baseConfig.instanceTitle(), external_url: config.externalUrl }),
    jobs,
    mail,
    pictures: userPictures,
    ownTexts: (key) => datamodel.current().pageTexts.get(key),
    loginParts: (actorOfUser) => [messagePart({ db, messages, actorOfUser }), ...loginParts],
  })
  opened.defer(() => auth.close())
  return { principals, rights, auth, mail, messages, conventionOf }
}
