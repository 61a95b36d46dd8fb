import { describeConfig } from '../../platform/config/load.ts'
import { type Html, html, joined } from '../../platform/values/html.ts'
import { textIn } from '../../platform/values/localized.ts'
import { isRecord } from '../../platform/values/records.ts'
import type { ConsolePage } from '../model.ts'
import { badge, facts, fold, json, section, table, yesNo } from '../view/parts.ts'
import type { PageDeps } from './deps.ts'

/** The settings of the process, and the base configuration section by section; secrets are masked in both. */
export function configPage({ config, baseConfig }: Pick<PageDeps, 'config' | 'baseConfig'>): ConsolePage {
  return {
    path: 'config',
    section: 'config',
    query: [],
    members: ['Config', 'BaseConfigList'],
    async load() {
      const settings = describeConfig(config)
      const sections = Object.entries(baseConfig.whole().system.config)
      return {
        json: { Config: settings, BaseConfigList: sections.map(([name, value]) => ({ section: name, value })) },
        title: ({ text }) => text('nav.config'),
        show: ({ text }) =>
          joined([
            section(
              text('config.process'),
              html`<p class="muted">${text('config.process.text')}</p>`,
              ...treeOf(settings),
            ),
            section(text('config.base'), ...sections.map(([name, value]) => fold(name, json(value)))),
          ]),
      }
    },
  }
}

/** Settings as a list of values, with collapsible groups. */
function treeOf(settings: Record<string, unknown>): Html[] {
  const entries = Object.entries((settings.svc ?? settings) as Record<string, unknown>)
  const single = entries.filter(([, value]) => !isRecord(value))
  return [
    facts(single.map(([name, value]) => [name, value === null ? '' : String(value)])),
    ...entries.filter(([, value]) => isRecord(value)).map(([name, value]) => fold(name, json(value))),
  ]
}

export function pluginsPage({ plugins }: Pick<PageDeps, 'plugins'>): ConsolePage {
  return {
    path: 'plugins',
    section: 'plugins',
    query: [],
    members: ['Plugins'],
    async load({ actor }) {
      const { plugins: all } = await plugins.list(actor)
      return {
        json: { Plugins: all },
        title: ({ text }) => text('nav.plugins'),
        show: (view) => {
          const { text, when } = view
          if (all.length === 0) return section(text('nav.plugins'), html`<p class="empty">${text('none')}</p>`)
          return joined(
            all.map((plugin) =>
              section(
                plugin.name,
                facts([
                  [text('state'), badge(view, plugin.enabled ? 'on' : 'off')],
                  [text('type'), plugin.type],
                  [text('plugins.from'), plugin.path ?? plugin.url],
                  [text('plugins.update'), plugin.update_policy],
                  [text('plugins.checked'), when(plugin.last_checked_at)],
                  [text('problem'), plugin.last_failure],
                  [text('plugins.unsupported'), plugin.unsupported.join(', ')],
                  [text('modified'), when(plugin.updated_at)],
                ]),
                fold(text('plugins.manifest'), json(plugin.manifest)),
              ),
            ),
          )
        },
      }
    },
  }
}

export function tagsPage({ tags, baseConfig }: Pick<PageDeps, 'tags' | 'baseConfig'>): ConsolePage {
  return {
    path: 'tags',
    section: 'tags',
    query: [],
    members: ['Tags'],
    async load({ actor }) {
      const groups = await tags.document(actor)
      return {
        json: { Tags: groups },
        title: ({ text }) => text('nav.tags'),
        show: (view) => {
          const { text } = view
          const languages = baseConfig.databaseLanguages()
          if (groups.length === 0) return section(text('nav.tags'), html`<p class="empty">${text('none')}</p>`)
          return joined(
            groups.map(({ taggroup, _tags }) =>
              section(
                textIn(taggroup.displayname, languages) || `${taggroup._id}`,
                html`<p class="muted">${text('tags.group', { id: taggroup._id, type: taggroup.type })}</p>`,
                table(
                  view,
                  text('tags.caption'),
                  [
                    { label: text('id'), kind: 'number', value: ({ _id }) => _id },
                    { label: text('title'), value: (tag) => textIn(tag.displayname, languages) },
                    { label: text('reference'), value: (tag) => ('reference' in tag ? String(tag.reference) : '') },
                    { label: text('type'), value: ({ type }) => type },
                    { label: text('tags.display'), value: ({ displaytype }) => displaytype },
                    { label: text('state'), value: ({ enabled }) => badge(view, enabled ? 'on' : 'off') },
                    { label: text('tags.default'), value: ({ is_default }) => yesNo(view, is_default) },
                    { label: text('tags.sticky'), value: ({ sticky }) => yesNo(view, sticky) },
                  ],
                  _tags,
                ),
              ),
            ),
          )
        },
      }
    },
  }
}
