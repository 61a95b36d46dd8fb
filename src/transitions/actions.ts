import type { Jobs } from '../jobs/service.ts'
import type { MailService, Schedule, WaitingMail } from '../mail/service.ts'
import type { Db, Queryable } from '../platform/db.ts'
import type { Person } from '../rights/service.ts'
import type { WebhookService } from '../webhooks/service.ts'
import { type EffectJob, type EffectObject, effectJobNames } from './effects.ts'
import { transitionMail } from './mail-text.ts'
import { verdictOf } from './model.ts'

/** A user who gets mail; `via` is the principal that was asked for: the user or one of its groups. */
export interface Recipient {
  readonly via: Person
  readonly userId: number
  readonly email: string
  readonly languages: readonly string[]
  readonly schedule: Schedule | null
}

/** How mails and webhooks show objects. */
export interface ActionObjects {
  /** Short texts of objects, also of those in the trash, in the best language. */
  describe(systemObjectIds: readonly number[], languages: readonly string[]): Promise<ReadonlyMap<number, string>>
  /** Objects in full, with all fields, as they are stored by now; purged ones are left out. */
  render(systemObjectIds: readonly number[]): Promise<readonly unknown[]>
}

export interface ActionOptions {
  db: Db
  jobs: Pick<Jobs, 'register'>
  mail: MailService
  webhooks: WebhookService
  /** Addresses of users, and of the users of groups; users without one are left out. */
  recipients: (from: Queryable, people: readonly Person[]) => Promise<readonly Recipient[]>
  objects: ActionObjects
  externalUrl: string
  /** Languages of the instance, best first: for readers who have chosen none. */
  languages: () => readonly string[]
}

/** Gives the jobs of transitions their code: mails and webhooks, after the commit. */
export function registerTransitionActions(options: ActionOptions): void {
  const { jobs } = options
  jobs.register<EffectJob<'email'>>(effectJobNames.email, (job, { jobId }) => sendMails(options, job, jobId))
  jobs.register<EffectJob<'webhook'>>(effectJobNames.webhook, async (job, { jobId, signal }) => {
    const outcome = await options.webhooks.call({
      name: job.action.name,
      userId: job.actor?.userId ?? null,
      id: String(jobId),
      payload: { info: webhookInfo(job, options.externalUrl), objects: await renderedObjects(options, job.objects) },
      signal,
    })
    if (outcome === 'failed') throw new Error(`webhook ${job.action.name} failed`)
  })
}

function webhookInfo(job: EffectJob<'webhook'>, externalUrl: string): Record<string, unknown> {
  const { transition, actor, events, objects } = job
  return {
    api_url: `${externalUrl.replace(/\/$/, '')}/api/v1`,
    transition: { _id: transition.id, type: transition.type, comment: transition.comment },
    rejected: verdictOf(transition.type) === 'reject',
    operations: objects.map(({ operation, systemObjectId, version }) => ({
      operation,
      _system_object_id: systemObjectId,
      _version: version,
    })),
    ...(actor ? { api_user: { _basetype: 'user', user: { _id: actor.userId, ...pick(actor) } } } : {}),
    ...(events ? { events: events.map(({ id, type, info }) => ({ _id: id, type, info })) } : {}),
  }
}

function pick(actor: NonNullable<EffectJob['actor']>): Record<string, unknown> {
  return {
    login: actor.login,
    _generated_displayname: actor.displayname,
    ...(actor.reference === null ? {} : { reference: actor.reference }),
  }
}

async function renderedObjects({ objects }: ActionOptions, refs: readonly EffectObject[]): Promise<readonly unknown[]> {
  const ids = refs.flatMap(({ systemObjectId }) => systemObjectId ?? [])
  return ids.length === 0 ? [] : objects.render(ids)
}

/** One mail for each reader, about the objects that concern it. */
async function sendMails(options: ActionOptions, job: EffectJob<'email'>, jobId: number): Promise<void> {
  const asked = objectsByPerson(job)
  const found = await options.recipients(options.db, [...asked.keys()])
  const readers = new Map<number, { reader: Recipient; objects: Set<EffectObject> }>()
  for (const reader of found) {
    const entry = readers.get(reader.userId) ?? { reader, objects: new Set() }
    for (const object of asked.get(reader.via) ?? []) entry.objects.add(object)
    readers.set(reader.userId, entry)
  }
  const mails: WaitingMail[] = []
  for (const { reader, objects } of readers.values()) {
    const languages = reader.languages.length > 0 ? reader.languages : options.languages()
    const text = transitionMail(job, await shown(options, [...objects], languages), languages)
    const mail = {
      ...text,
      key: `${effectJobNames.email}:${jobId}:${reader.userId}`,
      template: verdictOf(job.transition.type) === 'reject' ? 'transition_reject' : 'transition_resolve',
      to: [reader.email],
      languages,
      cause: { UserID: reader.userId, TransitionID: job.transition.id },
    }
    mails.push({ userId: reader.userId, schedule: job.action.batchable ? reader.schedule : null, mail })
  }
  await options.db.transaction((tx) => options.mail.sendWhenWanted(tx, mails, new Date()))
}

/** Who is to be written to about which objects; owners and pool contacts are those of each object. */
function objectsByPerson({ action, objects }: EffectJob<'email'>): Map<Person, EffectObject[]> {
  const people = new Map<Person, EffectObject[]>()
  const add = (person: Person | null, concerned: readonly EffectObject[]): void => {
    if (person !== null) people.set(person, [...(people.get(person) ?? []), ...concerned])
  }
  for (const who of action.recipients) {
    if (who === 'owner') for (const object of objects) add(object.owner, [object])
    else if (who === 'contact') for (const object of objects) add(object.contact, [object])
    else add(who, objects)
  }
  return people
}

async function shown(
  { objects: views, externalUrl }: ActionOptions,
  objects: readonly EffectObject[],
  languages: readonly string[],
) {
  const ids = objects.flatMap(({ systemObjectId }) => systemObjectId ?? [])
  const texts = ids.length === 0 ? new Map<number, string>() : await views.describe(ids, languages)
  const base = externalUrl.replace(/\/$/, '')
  return ids.map((id) => ({ text: texts.get(id) || `#${id}`, url: `${base}/api/v1/objects/id/${id}` }))
}
